// SPDX-License-Identifier: Apache-2.0
#include "os/passed_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/number.h"

namespace aliquot::os {
namespace {

constexpr int kFirst = 3;  // SD_LISTEN_FDS_START
constexpr int kMost = 64;

int number_in(const char* name) {
    const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread yet
    return text == nullptr ? 0 : parse_number<int>(std::string_view(text)).value_or(0);
}

int option_of(int socket, int option) {
    int value = -1;
    socklen_t size = sizeof value;
    return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

std::string path_of(int socket) {
    sockaddr_un address{};
    socklen_t size = sizeof address;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
    return std::string(address.sun_path, ::strnlen(address.sun_path, sizeof address.sun_path));
}

}  // namespace

Result<std::optional<PassedSocket>> take_passed_socket() {
    const bool for_us = number_in("LISTEN_PID") == ::getpid();
    const int count = for_us ? number_in("LISTEN_FDS") : 0;
    for (const char* const name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
    if (count <= 0) return std::optional<PassedSocket>();
    if (count > 1) {
        for (int i = 0; i < std::min(count, kMost); ++i) ::fcntl(kFirst + i, F_SETFD, FD_CLOEXEC);
        return Error{ErrorCode::kInvalidInput, "LISTEN_FDS: " + std::to_string(count) +
                                                   " sockets were handed over; expected one"};
    }
    ::fcntl(kFirst, F_SETFD, FD_CLOEXEC);
    const bool listens = option_of(kFirst, SO_DOMAIN) == AF_UNIX &&
                         option_of(kFirst, SO_TYPE) == SOCK_STREAM &&
                         option_of(kFirst, SO_ACCEPTCONN) == 1;
    if (!listens) {
        return Error{ErrorCode::kInvalidInput,
                     "LISTEN_FDS: descriptor 3 is not a listening unix socket; expected one, as "
                     "ListenStream=/run/aliquot/jobs.sock makes"};
    }
    ::fcntl(kFirst, F_SETFL, ::fcntl(kFirst, F_GETFL) | O_NONBLOCK);
    return std::optional(PassedSocket{.socket = Descriptor(kFirst), .path = path_of(kFirst)});
}

}  // namespace aliquot::os
