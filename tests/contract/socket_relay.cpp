// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/socket_relay.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

namespace aliquot::contract {
namespace {

constexpr int kEndLookMilliseconds = 20;

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(static_cast<char*>(address.sun_path), sizeof(address.sun_path) - 1);
    return address;
}

bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace

SocketRelay::SocketRelay(const std::string& from, std::string to)
    : to_(std::move(to)), listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = address_of(from);
    if (listener_ < 0 ||
        ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener_, 8) != 0) {
        const int number = errno;
        if (listener_ >= 0) ::close(listener_);
        throw std::system_error(number, std::generic_category(), from);
    }
    acceptor_ = std::jthread([this] { accept_clients(); });
}

SocketRelay::~SocketRelay() {
    ended_ = true;
    acceptor_.join();
    connections_.clear();
    ::close(listener_);
}

std::string SocketRelay::sent_by_client() const {
    const std::lock_guard lock(mutex_);
    return client_bytes_;
}

std::string SocketRelay::sent_by_server() const {
    const std::lock_guard lock(mutex_);
    return server_bytes_;
}

void SocketRelay::accept_clients() {
    while (!ended_) {
        pollfd ready{.fd = listener_, .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, kEndLookMilliseconds) <= 0) continue;
        const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client >= 0) connections_.emplace_back([this, client] { pass(client); });
    }
}

void SocketRelay::pass(int client) {
    const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto address = address_of(to_);
    bool open =
        ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    std::array<char, 65536> buffer{};
    while (open && !ended_) {
        std::array<pollfd, 2> ready{{{.fd = client, .events = POLLIN, .revents = 0},
                                     {.fd = server, .events = POLLIN, .revents = 0}}};
        if (::poll(ready.data(), ready.size(), kEndLookMilliseconds) <= 0) continue;
        for (std::size_t side = 0; side < ready.size() && open; ++side) {
            if (ready[side].revents == 0) continue;
            const ssize_t got = ::read(ready[side].fd, buffer.data(), buffer.size());
            if (got <= 0) {
                open = false;
                break;
            }
            const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
            {
                const std::lock_guard lock(mutex_);
                (side == 0 ? client_bytes_ : server_bytes_).append(bytes);
            }
            open = write_all(side == 0 ? server : client, bytes);
        }
    }
    ::close(client);
    ::close(server);
}

}  // namespace aliquot::contract
