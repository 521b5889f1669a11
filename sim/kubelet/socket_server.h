// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <thread>

#include "base/descriptor.h"
#include "base/result.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace aliquot::sim {

/// A gRPC server on a unix socket as kubelet makes it: what stale file is at the path goes, then bind, then
/// listen. gRPC is given the connections, since its own listener removes the path at its end, which a killed
/// process does not. Thread-safe.
class SocketServer {
public:
    /// service   must outlive the server
    /// errors    kUnavailable, with the path
    static Result<std::unique_ptr<SocketServer>> start(const std::filesystem::path& path,
                                                       grpc::Service& service);
    SocketServer(const SocketServer&) = delete;
    SocketServer& operator=(const SocketServer&) = delete;
    ~SocketServer();  // the file goes, then every connection is closed

    /// From now on as if the process were killed: the file stays and refuses connections.
    void leave_socket();

private:
    SocketServer(std::filesystem::path path, Descriptor socket,
                 std::unique_ptr<grpc::Server> server);
    void accept() const;

    const std::filesystem::path path_;
    Descriptor socket_;
    const std::unique_ptr<grpc::Server> server_;
    std::jthread thread_;
};

}  // namespace aliquot::sim
