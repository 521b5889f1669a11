// SPDX-License-Identifier: Apache-2.0
#include "http/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "os/root.h"

namespace aliquot::http {
namespace {

constexpr int kBacklog = 128;

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
};

Error not_an_address(std::string_view address) {
    return {ErrorCode::kInvalidInput, "'" + std::string(address) +
                                          "' is no address to listen on; expected HOST:PORT with "
                                          "an IP address, :PORT for all addresses, or [IPv6]:PORT"};
}

SocketAddress v4(in_addr host, std::uint16_t port) {
    SocketAddress made;
    auto* const raw = reinterpret_cast<sockaddr_in*>(&made.storage);
    raw->sin_family = AF_INET;
    raw->sin_port = htons(port);
    raw->sin_addr = host;
    made.length = sizeof *raw;
    return made;
}

SocketAddress v6(const in6_addr& host, std::uint16_t port) {
    SocketAddress made;
    auto* const raw = reinterpret_cast<sockaddr_in6*>(&made.storage);
    raw->sin6_family = AF_INET6;
    raw->sin6_port = htons(port);
    raw->sin6_addr = host;
    made.length = sizeof *raw;
    return made;
}

Result<SocketAddress> read_address(std::string_view address) {
    const std::size_t colon = address.rfind(':');
    if (colon == std::string_view::npos) return not_an_address(address);
    std::string host(address.substr(0, colon));
    const std::string_view digits = address.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [stop, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (problem != std::errc{} || stop != digits.data() + digits.size()) {
        return not_an_address(address);
    }
    if (host.empty()) return v6(in6addr_any, port);
    if (host == "localhost") host = "127.0.0.1";
    in_addr four{};
    if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return v4(four, port);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        in6_addr six{};
        if (::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six) == 1) {
            return v6(six, port);
        }
    }
    return not_an_address(address);
}

Result<Descriptor> bind_and_listen(const SocketAddress& where, std::string_view address) {
    Descriptor socket(
        ::socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0) return os::error_from_errno(errno, address);
    const int on = 1;
    const int off = 0;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (where.storage.ss_family == AF_INET6) {
        ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&where.storage), where.length) !=
            0 ||
        ::listen(socket.get(), kBacklog) != 0) {
        if (errno == EADDRINUSE) {
            return Error{ErrorCode::kConflict,
                         std::string(address) +
                             ": another program listens there; stop it or choose another port"};
        }
        return os::error_from_errno(errno, address);
    }
    return socket;
}

}  // namespace

Result<Done> check_address(std::string_view address) {
    auto where = read_address(address);
    if (!where) return std::move(where).error();
    return Done{};
}

Result<Descriptor> listen_on(const std::string& address) {
    const auto where = read_address(address);
    if (!where) return where.error();
    auto socket = bind_and_listen(*where, address);
    if (socket || !address.starts_with(':')) return socket;
    if (socket.error().code == ErrorCode::kConflict) return socket;
    // A kernel without IPv6.
    const auto* const six = reinterpret_cast<const sockaddr_in6*>(&where->storage);
    return bind_and_listen(v4(in_addr{.s_addr = INADDR_ANY}, ntohs(six->sin6_port)), address);
}

unsigned port_of(const Descriptor& socket) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) return 0;
    if (storage.ss_family == AF_INET) {
        return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
    }
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
}

}  // namespace aliquot::http
