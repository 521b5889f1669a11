// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "rpc/client.h"

namespace google::protobuf {
class MessageLite;
}

namespace aliquot::sim {

/// Asked now and then by whoever waits; true: give up.
using Stopped = std::function<bool()>;

/// kubelet's connection to a plugin: a unix socket without TLS, never shared between two dials. After it broke, the next call
/// makes a new one, as gRPC's channels do. Thread-safe.
class LocalChannel {
public:
    /// Waits until the other side speaks HTTP/2.
    /// errors   kUnavailable: not within `timeout`, or stopped
    static Result<std::shared_ptr<LocalChannel>> dial(const std::string& socket,
                                                      std::chrono::milliseconds timeout,
                                                      const Stopped& stopped);
    ~LocalChannel();  // as close()
    LocalChannel(const LocalChannel&) = delete;
    LocalChannel& operator=(const LocalChannel&) = delete;

    /// path   "/v1beta1.DevicePlugin/Allocate"
    rpc::Status call(const std::string& path, const google::protobuf::MessageLite& request,
                     std::chrono::milliseconds timeout, google::protobuf::MessageLite& answer);

    /// Hands over each message of the stream, on this thread; returns when it has ended.
    rpc::Status watch(const std::string& path, const google::protobuf::MessageLite& request,
                      const std::function<void(const std::string&)>& on_message);

    /// Breaks what is under way; later calls fail.
    void close();

private:
    LocalChannel(std::string socket, std::shared_ptr<rpc::Client> client);
    Result<std::shared_ptr<rpc::Client>> live();

    const std::string socket_;
    std::mutex mutex_;
    std::shared_ptr<rpc::Client> client_;             // empty: closed
    std::vector<std::weak_ptr<rpc::Client>> former_;  // a stream may still be open on them
};

/// A failed call in the words of kubelet's gRPC: "rpc error: code = Unavailable desc = ...".
std::string rpc_text(const rpc::Status& status);

}  // namespace aliquot::sim
