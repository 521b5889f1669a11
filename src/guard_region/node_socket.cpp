// SPDX-License-Identifier: Apache-2.0
#include "guard_region/node_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "guard_region/hand_over.h"
#include "os/root.h"

namespace aliquot::guard_region {
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
