// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "rpc/server.h"

namespace aliquot::sim {

/// A gRPC server on a unix socket as kubelet makes it: what stale file is at the path goes, then bind, then
/// listen. Each connection has a thread, so that a call that waits holds up nobody else. Thread-safe.
class SocketServer {
public:
    /// What is asked for again for each connection.
    using Methods = std::function<std::vector<rpc::Method>()>;

    /// errors   kUnavailable, with the path
    static Result<std::unique_ptr<SocketServer>> start(const std::filesystem::path& path,
                                                       Methods methods);
    SocketServer(const SocketServer&) = delete;
    SocketServer& operator=(const SocketServer&) = delete;
    ~SocketServer();  // the file goes, then every connection is closed; waits for calls under way

    /// From now on as if the process were killed: the file stays and refuses connections.
    void leave_socket();

private:
    SocketServer(std::filesystem::path path, Descriptor socket, Methods methods);
    void accept();
    void serve(Descriptor connection);

    const std::filesystem::path path_;
    Descriptor socket_;
    const Methods methods_;
    std::vector<std::unique_ptr<rpc::Server>> servers_;  // of the thread, one for each connection
    std::jthread thread_;
};

}  // namespace aliquot::sim
