// SPDX-License-Identifier: Apache-2.0
#include "guard_region/hand_over.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "os/root.h"

namespace aliquot::guard_region {
namespace {

constexpr char kFresh[] = ".new";

/// By the directory's descriptor: the path of a socket has room for 107 characters only.
std::optional<sockaddr_un> address_of(int directory, const std::filesystem::path& file) {
    const std::string path =
        "/proc/self/fd/" + std::to_string(directory) + "/" + file.filename().native();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return std::nullopt;
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

Descriptor directory_of(const std::filesystem::path& file) {
    return Descriptor(::open(file.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

Error too_long(const std::filesystem::path& file) {
    return Error{ErrorCode::kInvalidInput, file.native() + ": the name is too long for a socket"};
}

/// O_NONBLOCK: nobody else's lease on it is waited for.
Descriptor open_again(int memory) {
    const std::string path = "/proc/self/fd/" + std::to_string(memory);
    return Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
}

}  // namespace

void pass_on(int connection, int memory) { pass_on(connection, {&memory, 1}, "\1"); }

void pass_on(int connection, std::span<const int> files, std::string_view head) {
    // The kernel only reads it.
    iovec part{.iov_base = const_cast<char*>(head.data()), .iov_len = head.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFiles * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
    ::sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool was_taken(int connection) {
    int waiting = 0;
    return ::ioctl(connection, SIOCOUTQ, &waiting) != 0 || waiting == 0;
}

Result<Descriptor> listen_at(const std::filesystem::path& file, int type) {
    const Descriptor directory = directory_of(file);
    Descriptor listener(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!directory || !listener) return os::error_from_errno(errno, file.native());
    // Complete under another name first: at no moment is there nothing at `file`, nor what only we may use.
    std::filesystem::path fresh = file;
    fresh += kFresh;
    const auto address = address_of(directory.get(), fresh);
    if (!address) return too_long(file);
    ::unlink(fresh.c_str());
    constexpr int kQueue = 128;
    constexpr ::mode_t kAnyUser = 0666;
    if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) !=
            0 ||
        ::chmod(fresh.c_str(), kAnyUser) != 0 || ::listen(listener.get(), kQueue) != 0 ||
        ::rename(fresh.c_str(), file.c_str()) != 0) {
        const int why = errno;
        ::unlink(fresh.c_str());
        return os::error_from_errno(why, file.native());
    }
    return listener;
}

Result<Descriptor> receive_from(const std::filesystem::path& file) {
    const Descriptor directory = directory_of(file);
    const Descriptor wire(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!directory || !wire) return os::error_from_errno(errno, file.native());
    const auto address = address_of(directory.get(), file);
    if (!address) return too_long(file);
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    ::setsockopt(wire.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(wire.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (::connect(wire.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
        return os::error_from_errno(errno, file.native());
    }
    char byte = 0;
    iovec part{.iov_base = &byte, .iov_len = 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(wire.get(), &message, MSG_CMSG_CLOEXEC);
    if (got < 0) return os::error_from_errno(errno, file.native());
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(sizeof(int))) {
        return Error{ErrorCode::kUnavailable,
                     file.native() + ": whoever listens there hands nothing over"};
    }
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    const Descriptor shared(fd);
    Descriptor own = open_again(fd);
    if (!own) return os::error_from_errno(errno, file.native());
    return own;
}

}  // namespace aliquot::guard_region
