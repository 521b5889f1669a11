// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"
#include "rpc/status.h"

namespace aliquot::rpc {

/// What a client takes at most.
struct ClientLimits {
    std::size_t message_bytes = 4 << 20;  // of one message; a longer one ends its call
    std::size_t held_bytes =
        8 << 20;  // of a stream that its watcher has not taken: then nothing is read
};

/// One connection for many calls and streams at a time. It reads on a thread of its own. Thread-safe; it must outlive
/// its calls.
class Client {
public:
    /// errors   kUnavailable: no descriptor or thread to be had
    static Result<std::unique_ptr<Client>> start(Descriptor connection,
                                                 const ClientLimits& limits = {});
    virtual ~Client() = default;  // as close()

    /// Waits until the peer has said its settings, so that it does speak HTTP/2.
    /// returns  false: not within `timeout`, or the connection is over
    virtual bool wait_ready(std::chrono::milliseconds timeout) = 0;

    /// A call of one request and one answer. Waits at most `timeout`.
    /// path     "/v1beta1.DevicePlugin/Allocate"
    /// returns  the peer's status; kDeadlineExceeded: no answer in time; kCancelled: closed here;
    ///          kUnavailable: the connection broke
    virtual Status call(const std::string& path, std::string_view request,
                        std::chrono::milliseconds timeout, std::string& answer) = 0;

    /// A call whose answer is a stream: hands over each message on the caller's thread, and returns when the stream has
    /// ended. `on_message` throws nothing.
    /// returns  as call(), without a time
    virtual Status watch(const std::string& path, std::string_view request,
                         const std::function<void(const std::string& message)>& on_message) = 0;

    /// A new call may succeed: neither side has ended the connection, and the peer has not said that it will.
    [[nodiscard]] virtual bool open() = 0;

    /// Ends all calls and the connection. Messages that no watcher has taken are dropped.
    virtual void close() = 0;
};

}  // namespace aliquot::rpc
