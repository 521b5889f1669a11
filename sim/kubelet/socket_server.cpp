// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/socket_server.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "os/root.h"

namespace aliquot::sim {
namespace {

constexpr int kBacklog = 128;
constexpr std::size_t kConnections = 256;
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
                                                          Methods methods) {
    auto socket = listen_at(path);
    if (!socket) return std::move(socket).error();
    return std::unique_ptr<SocketServer>(
        new SocketServer(path, *std::move(socket), std::move(methods)));
}

SocketServer::SocketServer(std::filesystem::path path, Descriptor socket, Methods methods)
    : path_(std::move(path)),
      socket_(std::move(socket)),
      methods_(std::move(methods)),
      thread_([this] { accept(); }) {}

SocketServer::~SocketServer() {
    if (socket_) ::unlink(path_.c_str());
    leave_socket();
}

void SocketServer::leave_socket() {
    if (!socket_) return;
    ::shutdown(socket_.get(), SHUT_RDWR);  // ends accept4()
    thread_.join();
    socket_.reset();
}

void SocketServer::accept() {
    while (true) {
        Descriptor connection(
            ::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (connection) {
            serve(std::move(connection));
        } else if (errno == EMFILE || errno == ENFILE) {
            std::this_thread::sleep_for(kNoDescriptorPause);  // the connection goes on waiting
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;  // EINVAL: shut down
        }
    }
}

void SocketServer::serve(Descriptor connection) {
    std::erase_if(servers_, [](const auto& one) { return one->wait_until_left({}); });
    if (servers_.size() >= kConnections) {
        log::warning("sim.kubelet.too_many_connections", {{"socket", path_.native()}});
        return;
    }
    auto server = rpc::Server::start(methods_());
    if (!server) {
        log::warning("sim.kubelet.no_server", {{"error", server.error().message}});
        return;
    }
    (*server)->serve(std::move(connection));
    servers_.push_back(*std::move(server));
}

}  // namespace aliquot::sim
