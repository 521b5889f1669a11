// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "grant/grant.h"
#include "rpc/server.h"

namespace aliquot::kubelet {

/// The open ListAndWatch streams of one server, and the list that each of them has to have.
///
/// Every stream gets the newest list at once, and every later one by itself: what one stream was
/// given tells nothing about the others, and one that does not read holds up nobody. Thread-safe.
class Streams : public rpc::Feed {
public:
    /// on_change   called from the server's thread when a stream opens or ends
    static std::unique_ptr<Streams> make(std::function<void()> on_change);

    /// wake   makes the server ask for news. Once, before the first stream opens.
    virtual void attach(std::function<void()> wake) = 0;

    /// The list that streams opened from now on start with; open ones keep theirs until push().
    virtual void set(std::span<const grant::Device> devices) = 0;

    /// Writes the list of the last set() to every stream that has an older one.
    virtual void push() = 0;

    /// push(), and waits until all streams have written it. False when `timeout` passed first.
    virtual bool flush(std::chrono::milliseconds timeout) = 0;

    /// Ends every stream after what it is writing; new ones are refused.
    virtual void close() = 0;

    [[nodiscard]] virtual unsigned open_streams() const = 0;
    [[nodiscard]] virtual std::uint64_t opened_streams() const = 0;  // ever
};

}  // namespace aliquot::kubelet
