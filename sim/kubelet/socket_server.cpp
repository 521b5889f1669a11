// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/socket_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "os/root.h"

namespace aliquot::sim {
namespace {

constexpr int kBacklog = 128;
constexpr std::chrono::milliseconds kNoDescriptorPause{10};

Result<Descriptor> listen_at(const std::filesystem::path& path) {
    const auto failed = [&](int number) {
        return Error{ErrorCode::kUnavailable, os::error_from_errno(number, path.native()).message};
    };
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto& name = path.native();
    if (name.size() >= sizeof(address.sun_path)) return failed(ENAMETOOLONG);
    std::copy(name.begin(), name.end(), address.sun_path);
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) return failed(errno);
    ::unlink(path.c_str());
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(socket.get(), kBacklog) != 0)
        return failed(errno);
    return socket;
}

}  // namespace

Result<std::unique_ptr<SocketServer>> SocketServer::start(const std::filesystem::path& path,
                                                          grpc::Service& service) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service);
    auto server = builder.BuildAndStart();
    if (!server) return Error{ErrorCode::kUnavailable, path.native() + ": gRPC does not start"};
    auto socket = listen_at(path);
    if (!socket) return std::move(socket).error();
    return std::unique_ptr<SocketServer>(
        new SocketServer(path, *std::move(socket), std::move(server)));
}

SocketServer::SocketServer(std::filesystem::path path, Descriptor socket,
                           std::unique_ptr<grpc::Server> server)
    : path_(std::move(path)),
      socket_(std::move(socket)),
      server_(std::move(server)),
      thread_([this] { accept(); }) {}

SocketServer::~SocketServer() {
    if (socket_) ::unlink(path_.c_str());
    leave_socket();
    server_->Shutdown(std::chrono::system_clock::now());
}

void SocketServer::leave_socket() {
    if (!socket_) return;
    ::shutdown(socket_.get(), SHUT_RDWR);  // ends accept4()
    thread_.join();
    socket_.reset();
}

void SocketServer::accept() const {
    while (true) {
        Descriptor connection(
            ::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (connection) {
            grpc::AddInsecureChannelFromFd(server_.get(), connection.release());
        } else if (errno == EMFILE || errno == ENFILE) {
            std::this_thread::sleep_for(kNoDescriptorPause);  // the connection goes on waiting
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;  // EINVAL: shut down
        }
    }
}

}  // namespace aliquot::sim
