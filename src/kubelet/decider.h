// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "grant/grant.h"

namespace aliquot::kubelet {

/// Decides for one resource. Called from the server's thread: thread-safe, and quick, since kubelet admits
/// pods one after the other and sets no deadline (no driver call, no network).
class Decider {
public:
    virtual ~Decider() = default;

    /// Chooses `size` of `available`, with all of `must_include`. It cannot fail: an error here
    /// would fail the pod for good, so the worst answer is an empty one (kubelet then chooses by
    /// itself).
    virtual std::vector<std::string> prefer(std::span<const std::string> available,
                                            std::span<const std::string> must_include,
                                            std::size_t size) noexcept = 0;

    /// errors   kInvalidInput: a request that the configuration forbids; kNotFound: an id that is
    /// not
    ///          ours; kUnavailable: cannot be granted now. All fail the pod with the message.
    virtual Result<grant::Grant> allocate(std::span<const std::string> ids) = 0;
};

}  // namespace aliquot::kubelet
