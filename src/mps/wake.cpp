// SPDX-License-Identifier: Apache-2.0
#include "mps/wake.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace aliquot::mps {
namespace {

/// How often a process is looked at where the kernel (before 5.3) cannot tell of its end.
constexpr std::chrono::milliseconds kGlance{200};

}  // namespace

EndWatch::EndWatch(const ProcessId& process) : process_(process) {
    descriptor_ = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
}

EndWatch::~EndWatch() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

bool EndWatch::ended() const { return !is_alive(process_); }

Wake::Wake() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Wake::~Wake() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void Wake::notify() {
    const std::uint64_t one = 1;
    const ssize_t written = ::write(descriptor_, &one, sizeof one);
    (void)written;  // a full counter wakes as well
}

void Wake::wait(std::chrono::milliseconds timeout, const EndWatch* process) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    const bool glance = process != nullptr && process->descriptor() < 0;
    std::array<pollfd, 2> sources{};
    sources[0] = {.fd = descriptor_, .events = POLLIN, .revents = 0};
    sources[1] = {
        .fd = process == nullptr ? -1 : process->descriptor(), .events = POLLIN, .revents = 0};
    for (;;) {
        auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        left = std::max(left, std::chrono::milliseconds(0));
        if (glance) left = std::min(left, kGlance);
        const int ready = ::poll(sources.data(), sources.size(), static_cast<int>(left.count()));
        if (ready > 0 && sources[0].revents != 0) {
            std::uint64_t count = 0;
            const ssize_t got = ::read(descriptor_, &count, sizeof count);
            (void)got;
            return;
        }
        if (ready > 0) return;
        if (glance && process->ended()) return;
        if (ready < 0 && errno != EINTR) return;
        if (std::chrono::steady_clock::now() >= end) return;
    }
}

}  // namespace aliquot::mps
