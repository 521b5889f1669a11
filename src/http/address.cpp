// SPDX-License-Identifier: Apache-2.0
#include "http/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "os/root.h"

namespace aliquot::http {
namespace {

constexpr int kBacklog = 1024;  // a burst waits; what is not in it waits a second
/// What the kernel keeps of one connection on its way in and out, each doubled by it. What a peer does
/// not read, or sends unasked, counts against our own limit of memory.
constexpr int kReceiveBuffer = 32 << 10;
constexpr int kSendBuffer = 64 << 10;
constexpr std::string_view kUnix = "unix:";

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
};

const sockaddr* raw(const SocketAddress& address) {
    return reinterpret_cast<const sockaddr*>(&address.storage);
}

Error not_an_address(std::string_view address) {
    return {ErrorCode::kInvalidInput,
            "'" + std::string(address) +
                "' is not an address to listen on; expected HOST:PORT with "
                "an IP address, :PORT for all addresses, [IPv6]:PORT or "
                "unix:PATH"};
}

SocketAddress v4(in_addr host, std::uint16_t port) {
    SocketAddress made;
    auto* const ip = reinterpret_cast<sockaddr_in*>(&made.storage);
    ip->sin_family = AF_INET;
    ip->sin_port = htons(port);
    ip->sin_addr = host;
    made.length = sizeof *ip;
    return made;
}

SocketAddress v6(const in6_addr& host, std::uint16_t port) {
    SocketAddress made;
    auto* const ip = reinterpret_cast<sockaddr_in6*>(&made.storage);
    ip->sin6_family = AF_INET6;
    ip->sin6_port = htons(port);
    ip->sin6_addr = host;
    made.length = sizeof *ip;
    return made;
}

Result<SocketAddress> unix_address(std::string_view path) {
    SocketAddress made;
    auto* const local = reinterpret_cast<sockaddr_un*>(&made.storage);
    if (!path.starts_with('/') || path.size() >= sizeof local->sun_path) {
        return Error{ErrorCode::kInvalidInput,
                     "unix:" + std::string(path) + ": expected an absolute path of at most " +
                         std::to_string(sizeof local->sun_path - 1) + " bytes"};
    }
    local->sun_family = AF_UNIX;
    std::memcpy(local->sun_path, path.data(), path.size());
    made.length = sizeof *local;
    return made;
}

Result<SocketAddress> read_address(std::string_view address) {
    if (address.starts_with(kUnix)) return unix_address(address.substr(kUnix.size()));
    const std::size_t colon = address.rfind(':');
    if (colon == std::string_view::npos) return not_an_address(address);
    std::string host(address.substr(0, colon));
    const auto number = parse_number<std::uint16_t>(address.substr(colon + 1));
    if (!number) return not_an_address(address);
    const std::uint16_t port = *number;
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
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
    if (where.storage.ss_family == AF_INET6) {
        ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (::bind(socket.get(), raw(where), where.length) != 0 ||
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

Result<Descriptor> listen_on_path(const SocketAddress& where, const std::string& path) {
    std::error_code problem;
    const auto folder = std::filesystem::path(path).parent_path();
    std::filesystem::create_directories(folder, problem);
    if (problem) return os::error_from_errno(problem.value(), folder.native());
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(socket.get(), raw(where), where.length) == 0 || errno == EAGAIN) {
        return Error{ErrorCode::kConflict, path + ": another program is listening"};
    }
    ::unlink(path.c_str());  // what a killed one left
    // Nobody can connect before listen(), so its mode is right from the start.
    if (::bind(socket.get(), raw(where), where.length) != 0 || ::chmod(path.c_str(), 0600) != 0 ||
        ::listen(socket.get(), kBacklog) != 0) {
        return os::error_from_errno(errno, path);
    }
    return socket;
}

}  // namespace

Result<Done> check_local(std::string_view address) {
    const auto where = read_address(address);
    if (!where) return where.error();
    const auto* const four = reinterpret_cast<const sockaddr_in*>(&where->storage);
    const auto* const six = reinterpret_cast<const sockaddr_in6*>(&where->storage);
    const bool local =
        where->storage.ss_family == AF_UNIX ||
        (where->storage.ss_family == AF_INET && (ntohl(four->sin_addr.s_addr) >> 24U) == 127) ||
        (where->storage.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) != 0);
    if (local) return Done{};
    return Error{ErrorCode::kInvalidInput,
                 "'" + std::string(address) +
                     "' is not unix:PATH or a loopback address such as 127.0.0.1:9401"};
}

Result<Done> open_socket_file(std::string_view address, unsigned mode,
                              std::optional<unsigned> group) {
    if (!address.starts_with(kUnix)) return Done{};
    const std::string path(address.substr(kUnix.size()));
    // First the group: a mode that lets a group in must not be for another one.
    if (group && ::chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) {
        return os::error_from_errno(errno, path);
    }
    if (::chmod(path.c_str(), mode) != 0) return os::error_from_errno(errno, path);
    return Done{};
}

void remove_socket_file(std::string_view address) {
    if (!address.starts_with(kUnix)) return;
    ::unlink(std::string(address.substr(kUnix.size())).c_str());
}

Result<Done> check_address(std::string_view address) {
    auto where = read_address(address);
    if (!where) return std::move(where).error();
    return Done{};
}

Result<Descriptor> listen_on(const std::string& address) {
    const auto where = read_address(address);
    if (!where) return where.error();
    if (where->storage.ss_family == AF_UNIX) {
        return listen_on_path(*where, address.substr(kUnix.size()));
    }
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
    if (storage.ss_family != AF_INET6) return 0;
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
}

}  // namespace aliquot::http
