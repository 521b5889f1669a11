// SPDX-License-Identifier: Apache-2.0
#include "kubelet/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "os/root.h"

namespace aliquot::kubelet {
namespace {

constexpr int kBacklog = 64;
constexpr mode_t kMode = 0600;
// kubelet removes sockets of this directory when it starts, so the temporary one can vanish too.
constexpr int kAttempts = 3;

struct Address {
    Descriptor directory;  // keeps /proc/self/fd/N valid for long paths
    sockaddr_un socket{};
};

std::optional<sockaddr_un> fits(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) return std::nullopt;
    std::copy(path.begin(), path.end(), address.sun_path);
    return address;
}

Result<Address> address_of(const std::filesystem::path& path) {
    Address address;
    if (const auto direct = fits(path.native())) {
        address.socket = *direct;
        return address;
    }
    const auto directory = path.parent_path();
    address.directory = Descriptor(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!address.directory) return os::error_from_errno(errno, directory.native());
    const auto through = fits("/proc/self/fd/" + std::to_string(address.directory.get()) + "/" +
                              path.filename().native());
    if (!through)
        return Error{ErrorCode::kInvalidInput,
                     path.native() + ": the name of a socket has at most 80 bytes, this one has " +
                         std::to_string(path.filename().native().size())};
    address.socket = *through;
    return address;
}

Result<Descriptor> make_socket() {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return os::error_from_errno(errno, "unix socket");
    return socket;
}

const sockaddr* generic(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

/// Binds, listens and gives the socket its name. errno when it fails.
/// bound_path   under which it is bound: `path`, or a temporary one beside it
int place_socket(const Descriptor& socket, const Address& bound,
                 const std::filesystem::path& bound_path, const std::filesystem::path& path) {
    ::unlink(bound_path.c_str());  // left by a predecessor that was killed
    // Linux makes the file with the mode that the socket has.
    if (::fchmod(socket.get(), kMode) != 0 ||
        ::bind(socket.get(), generic(bound.socket), sizeof(bound.socket)) != 0) {
        return errno;
    }
    const bool stays = bound_path == path;
    if (::listen(socket.get(), kBacklog) != 0 ||
        (!stays && ::rename(bound_path.c_str(), path.c_str()) != 0)) {
        const int number = errno;
        ::unlink(bound_path.c_str());
        return number;
    }
    return 0;
}

}  // namespace

Result<Listener> Listener::open(const std::filesystem::path& path, Making making) {
    struct stat found {};
    if (::lstat(path.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode))
        return Error{ErrorCode::kConflict,
                     path.native() + ": is there and is not a socket; move it away"};
    const auto bound_path = making == Making::kInPlace
                                ? path
                                : path.parent_path() / ("." + path.filename().native() + ".new");
    auto bound = address_of(bound_path);
    if (!bound) return std::move(bound).error();

    int number = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        auto socket = make_socket();
        if (!socket) return std::move(socket).error();
        number = place_socket(*socket, *bound, bound_path, path);
        if (number == 0 && ::lstat(path.c_str(), &found) == 0)
            return Listener(path, *std::move(socket), found.st_dev, found.st_ino);
        if (number != 0 && number != ENOENT && number != EADDRINUSE) break;
    }
    return os::error_from_errno(number == 0 ? ENOENT : number, path.native());
}

Listener::~Listener() { remove(); }

Result<Descriptor> Listener::accept() {
    while (true) {
        const int fd = ::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) return Descriptor(fd);
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return Descriptor{};
        return Error{ErrorCode::kUnavailable, os::error_from_errno(errno, path_.native()).message};
    }
}

Listener::Place Listener::place() const {
    struct stat found {};
    if (::lstat(path_.c_str(), &found) != 0) return Place::kGone;
    return found.st_dev == device_ && found.st_ino == inode_ ? Place::kOurs : Place::kTaken;
}

void Listener::remove() {
    if (!socket_) return;
    if (place() == Place::kOurs) ::unlink(path_.c_str());
    socket_ = Descriptor{};
}

Result<Descriptor> connect_unix(const std::filesystem::path& path) {
    const auto address = address_of(path);
    if (!address) return address.error();
    auto socket = make_socket();
    if (!socket) return std::move(socket).error();
    while (::connect(socket->get(), generic(address->socket), sizeof(address->socket)) != 0) {
        if (errno == EINTR) continue;
        return os::error_from_errno(errno, path.native());
    }
    return *std::move(socket);
}

}  // namespace aliquot::kubelet
