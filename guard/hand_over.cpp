// SPDX-License-Identifier: Apache-2.0
#include "guard/hand_over.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "guard/kernel.h"

namespace aliquot::guard {

/// The file behind an open descriptor, opened once more: locks belong to the open file.
int open_again(int descriptor) {
    char path[32] = "/proc/self/fd/";
    unsigned at = 14;
    char digits[12];
    unsigned count = 0;
    unsigned value = static_cast<unsigned>(descriptor);
    do digits[count++] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    while (count != 0) path[at++] = digits[--count];
    path[at] = '\0';
    return kernel::open(path, O_RDWR);
}

/// Whoever listens there sends one descriptor. -1: nobody does.
int receive(const char* path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (std::strlen(path) >= sizeof address.sun_path) return -1;
    std::strcpy(address.sun_path, path);
    const auto wire =
        static_cast<int>(kernel::call(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (wire < 0) return -1;
    timeval patience = {0, 200'000};
    kernel::call(SYS_setsockopt, wire, SOL_SOCKET, SO_RCVTIMEO, kernel::as_long(&patience),
                 sizeof patience);
    kernel::call(SYS_setsockopt, wire, SOL_SOCKET, SO_SNDTIMEO, kernel::as_long(&patience),
                 sizeof patience);
    int received = -1;
    if (kernel::call(SYS_connect, wire, kernel::as_long(&address), sizeof address) == 0) {
        char byte = 0;
        iovec part = {&byte, 1};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        msghdr message = {};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const long length =
            kernel::call(SYS_recvmsg, wire, kernel::as_long(&message), MSG_CMSG_CLOEXEC);
        const cmsghdr* header = CMSG_FIRSTHDR(&message);
        if (length >= 0 && header != nullptr && header->cmsg_level == SOL_SOCKET &&
            header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
            std::memcpy(&received, CMSG_DATA(header), sizeof received);
    }
    kernel::close(wire);
    return received;
}

int open_or_receive(const char* path, std::uint64_t patience_ns) {
    constexpr std::uint64_t kBetweenTries = 20'000'000;
    const std::uint64_t since = kernel::now_ns();
    for (;;) {
        const int file = kernel::open(path, O_RDWR | O_NONBLOCK);
        if (file != -ENXIO && file != -ECONNREFUSED) return file;  // a socket cannot be opened
        const int handed = receive(path);
        if (handed >= 0) return handed;
        if (kernel::now_ns() - since >= patience_ns) return -ECONNREFUSED;
        kernel::sleep_ns(kBetweenTries);
    }
}

}  // namespace aliquot::guard
