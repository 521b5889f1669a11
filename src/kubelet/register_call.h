// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "kubelet/unix_socket.h"

namespace aliquot::kubelet {

/// One call of Register under way. It runs beside its owner, who has to accept kubelet's dial-back
/// meanwhile; so it has a thread for as long as it lasts. Thread-safe. The destructor cancels and
/// waits for the end.
class RegisterCall {
public:
    /// subject   names the call in errors: "Register nvidia.com/gpu at /var/.../kubelet.sock"
    /// on_done   called once, from the call's thread, when result() is there
    static std::unique_ptr<RegisterCall> start(Descriptor connection, const std::string& resource,
                                               const std::string& socket_name, std::string subject,
                                               std::chrono::milliseconds timeout,
                                               std::function<void()> on_done);
    virtual ~RegisterCall() = default;

    /// Empty while it runs.
    [[nodiscard]] virtual std::optional<Result<Done>> result() const = 0;
};

}  // namespace aliquot::kubelet
