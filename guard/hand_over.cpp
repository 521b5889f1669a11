// SPDX-License-Identifier: Apache-2.0
#include "guard/hand_over.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "abi/turns.h"
#include "guard/kernel.h"

namespace aliquot::guard {

namespace {

/// Writes "/proc/self/fd/N"; `path` has room for 32. Returns its length.
unsigned write_fd_path(char* path, int descriptor) {
    std::strcpy(path, "/proc/self/fd/");
    unsigned at = 14;
    char digits[12];
    unsigned count = 0;
    unsigned value = static_cast<unsigned>(descriptor);
    do digits[count++] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    while (count != 0) path[at++] = digits[--count];
    path[at] = '\0';
    return at;
}

/// Connects to the socket `path`; one whose address would be too long by way of its directory.
/// returns  0, or a negative errno
long connect_to(int wire, const char* path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (std::strlen(path) < sizeof address.sun_path) {
        std::strcpy(address.sun_path, path);
        return kernel::call(SYS_connect, wire, kernel::as_long(&address), sizeof address);
    }
    constexpr std::size_t kMostName = 64;
    char directory[4096];
    const char* const slash = std::strrchr(path, '/');
    const std::size_t length = slash == nullptr ? 0 : static_cast<std::size_t>(slash - path);
    if (length == 0 || length >= sizeof directory || std::strlen(slash) > kMostName)
        return -ENAMETOOLONG;
    std::memcpy(directory, path, length);
    directory[length] = '\0';
    const int through = kernel::open(directory, O_PATH | O_DIRECTORY);
    if (through < 0) return through;
    std::strcpy(address.sun_path + write_fd_path(address.sun_path, through), slash);
    const long result = kernel::call(SYS_connect, wire, kernel::as_long(&address), sizeof address);
    kernel::close(through);
    return result;
}

/// One message from whoever listens at `path`, with exactly `count` descriptors, 2 at most, or none.
/// returns  its length, or a negative errno
long receive_from(const char* path, int type, iovec part, int* files, unsigned count) {
    for (unsigned i = 0; i < count; ++i) files[i] = -1;
    const auto wire = static_cast<int>(kernel::call(SYS_socket, AF_UNIX, type | SOCK_CLOEXEC, 0));
    if (wire < 0) return wire;
    timeval patience = {0, 200'000};
    kernel::call(SYS_setsockopt, wire, SOL_SOCKET, SO_RCVTIMEO, kernel::as_long(&patience),
                 sizeof patience);
    kernel::call(SYS_setsockopt, wire, SOL_SOCKET, SO_SNDTIMEO, kernel::as_long(&patience),
                 sizeof patience);
    long result = connect_to(wire, path);
    if (result == 0) {
        constexpr unsigned kMost = 2;
        alignas(cmsghdr) char control[CMSG_SPACE(kMost * sizeof(int))] = {};
        msghdr message = {};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        result = kernel::call(SYS_recvmsg, wire, kernel::as_long(&message), MSG_CMSG_CLOEXEC);
        const cmsghdr* header = result < 0 ? nullptr : CMSG_FIRSTHDR(&message);
        if (header != nullptr && header->cmsg_level == SOL_SOCKET &&
            header->cmsg_type == SCM_RIGHTS) {
            const std::size_t got = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < got; ++i) {
                int file = -1;
                std::memcpy(&file, CMSG_DATA(header) + i * sizeof file, sizeof file);
                if (got == count)
                    files[i] = file;
                else
                    kernel::close(file);
            }
        }
    }
    kernel::close(wire);
    return result;
}

/// Whoever listens at `path` sends one descriptor. -1: nobody does.
int receive(const char* path) {
    char byte = 0;
    int file = -1;
    receive_from(path, SOCK_STREAM, {&byte, 1}, &file, 1);
    return file;
}

}  // namespace

/// The file behind an open descriptor, opened once more: locks belong to the open file.
int open_again(int descriptor) {
    char path[32];
    write_fd_path(path, descriptor);
    return kernel::open(path, O_RDWR);
}

long receive_turns(const char* path, int (&files)[2]) {
    abi::TurnsHandOver head = {};
    const long length = receive_from(path, SOCK_SEQPACKET, {&head, sizeof head}, files, 2);
    if (length < 0) return length;
    if (length == sizeof head && head.magic == abi::kTurnsHandOverMagic &&
        head.abi == abi::kTurnsAbi && files[0] >= 0)
        return 0;
    for (int& file : files) {
        if (file >= 0) kernel::close(file);
        file = -1;
    }
    return length == 0 ? -ECONNREFUSED : -EPROTO;
}

int open_or_receive(const char* path, std::uint64_t patience_ns) {
    constexpr std::uint64_t kBetweenTries = 20'000'000;
    const std::uint64_t since = kernel::now_ns();
    for (;;) {
        const int file = kernel::open(path, O_RDWR | O_NONBLOCK);
        if (file != -ENXIO && file != -ECONNREFUSED) return file;  // a socket cannot be opened
        const int handed = receive(path);
        if (handed >= 0) {
            const int own = open_again(handed);
            kernel::close(handed);
            return own;
        }
        if (kernel::now_ns() - since >= patience_ns) return -ECONNREFUSED;
        kernel::sleep_ns(kBetweenTries);
    }
}

}  // namespace aliquot::guard
