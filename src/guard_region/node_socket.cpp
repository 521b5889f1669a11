// SPDX-License-Identifier: Apache-2.0
#include "guard_region/node_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "os/root.h"

namespace aliquot::guard_region {
namespace {

/// Sends one byte and a descriptor. Whoever does not take it gets nothing: no waiting for anybody.
void hand_over(int connection, int page) {
    // A description of its own for everybody: locks belong to it.
    const std::string path = "/proc/self/fd/" + std::to_string(page);
    const Descriptor copy(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!copy) return;
    char byte = 1;
    iovec part{.iov_base = &byte, .iov_len = 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = copy.get();
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    ::sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

Result<Descriptor> listen_at(const std::filesystem::path& file) {
    // By the directory's descriptor: the path of a socket has room for 107 characters only.
    const Descriptor directory(
        ::open(file.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!directory || !listener) return os::error_from_errno(errno, file.native());
    const std::string path =
        "/proc/self/fd/" + std::to_string(directory.get()) + "/" + file.filename().native();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return Error{ErrorCode::kInvalidInput, file.native() + ": the name is too long"};
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    ::unlink(file.c_str());
    constexpr int kQueue = 128;
    constexpr ::mode_t kAnyUser = 0666;
    if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::chmod(file.c_str(), kAnyUser) != 0 || ::listen(listener.get(), kQueue) != 0) {
        return os::error_from_errno(errno, file.native());
    }
    return listener;
}

}  // namespace

NodeSocket::NodeSocket(std::filesystem::path file, Descriptor page, Descriptor listener,
                       Descriptor wake)
    : file_(std::move(file)),
      page_(std::move(page)),
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      thread_([this] { serve(); }) {}

Result<std::unique_ptr<NodeSocket>> NodeSocket::listen(std::filesystem::path file,
                                                       Descriptor page) {
    auto listener = listen_at(file);
    if (!listener) return std::move(listener).error();
    Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return os::error_from_errno(errno, file.native());
    return std::unique_ptr<NodeSocket>(
        new NodeSocket(std::move(file), std::move(page), *std::move(listener), std::move(wake)));
}

NodeSocket::~NodeSocket() {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
    thread_.join();
    ::unlink(file_.c_str());
}

Result<Done> NodeSocket::link(const std::filesystem::path& place) const {
    const std::string fresh = place.native() + ".new";
    ::unlink(fresh.c_str());
    if (::link(file_.c_str(), fresh.c_str()) != 0 || ::rename(fresh.c_str(), place.c_str()) != 0) {
        return os::error_from_errno(errno, place.native());
    }
    // rename() of one link onto another one of the same file does nothing and leaves both.
    ::unlink(fresh.c_str());
    return Done{};
}

void NodeSocket::serve() {
    std::array<pollfd, 2> watched{
        {{.fd = listener_.get(), .events = POLLIN}, {.fd = wake_.get(), .events = POLLIN}}};
    for (;;) {
        if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return;
        if ((watched[1].revents & POLLIN) != 0) return;
        if (watched[0].revents == 0) continue;
        const Descriptor connection(
            ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (connection) {
            hand_over(connection.get(), page_.get());
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            constexpr int kBreathMs = 50;  // the connection stays in the queue
            ::poll(&watched[1], 1, kBreathMs);
        }
    }
}

}  // namespace aliquot::guard_region
