// SPDX-License-Identifier: Apache-2.0
#include "sim/mps/line_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/root.h"

namespace aliquot::sim::mps {
namespace {

constexpr std::size_t kLongestLine = 4096;

}  // namespace

LineSocket::LineSocket(LineSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      buffer_(std::move(other.buffer_)),
      passed_(std::exchange(other.passed_, -1)) {}

LineSocket& LineSocket::operator=(LineSocket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(buffer_, other.buffer_);
    std::swap(passed_, other.passed_);
    return *this;
}

LineSocket::~LineSocket() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (passed_ >= 0) ::close(passed_);
}

Result<LineSocket> LineSocket::connect(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return Error{ErrorCode::kInvalidInput, path + ": too long for a socket"};
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    LineSocket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.descriptor_ < 0) return os::error_from_errno(errno, "socket");
    if (::connect(socket.descriptor_, reinterpret_cast<const sockaddr*>(&address),
                  sizeof address) != 0) {
        return os::error_from_errno(errno, path);
    }
    return socket;
}

bool LineSocket::send(std::string_view text, int passed) {
    while (!text.empty()) {
        iovec part{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> beside{};
        if (passed >= 0) {
            message.msg_control = beside.data();
            message.msg_controllen = beside.size();
            cmsghdr* const header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(sizeof(int));
            std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
        }
        const ssize_t sent = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return false;
        passed = -1;
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool LineSocket::receive() {
    std::array<char, kLongestLine> room{};
    iovec part{.iov_base = room.data(), .iov_len = room.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> beside{};
    message.msg_control = beside.data();
    message.msg_controllen = beside.size();
    ssize_t got = 0;
    do {
        got = ::recvmsg(descriptor_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return errno == EAGAIN;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        if (passed_ >= 0) ::close(passed_);
        std::memcpy(&passed_, CMSG_DATA(header), sizeof passed_);
    }
    if (got == 0) return false;
    buffer_.append(room.data(), static_cast<std::size_t>(got));
    return buffer_.size() <= 2 * kLongestLine;
}

std::optional<std::string> LineSocket::take_line() {
    const auto end = buffer_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
}

std::optional<std::string> LineSocket::wait_line(std::chrono::milliseconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        if (auto line = take_line()) return line;
        int wait = -1;
        if (timeout.count() >= 0) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now());
            if (left.count() <= 0) return std::nullopt;
            wait = static_cast<int>(left.count());
        }
        pollfd readable{.fd = descriptor_, .events = POLLIN, .revents = 0};
        if (::poll(&readable, 1, wait) > 0 && !receive()) return take_line();
    }
}

int LineSocket::take_descriptor() { return std::exchange(passed_, -1); }

LineSocket::Peer LineSocket::peer() const {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(descriptor_, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
    return {.pid = credentials.pid, .uid = credentials.uid};
}

}  // namespace aliquot::sim::mps
