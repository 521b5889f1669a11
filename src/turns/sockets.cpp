// SPDX-License-Identifier: Apache-2.0
#include "turns/sockets.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/log.h"
#include "guard_region/hand_over.h"

namespace aliquot::turns {
namespace {

/// The message, or nothing where there is no room for it.
void send(int connection, const std::vector<Descriptor>& pages) {
    const abi::TurnsHandOver head{.magic = abi::kTurnsHandOverMagic, .abi = abi::kTurnsAbi};
    const std::array<int, 2> files{pages[0].get(), pages[1].get()};
    guard_region::pass_on(connection, files, {reinterpret_cast<const char*>(&head), sizeof head});
}

}  // namespace

Sockets::Sockets(Keeper& keeper)
    : keeper_(keeper),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { serve(); }) {}

Sockets::~Sockets() {
    {
        const std::scoped_lock lock(mutex_);
        ends_ = true;
    }
    wake();
    thread_.join();
}

void Sockets::wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
}

Result<Done> Sockets::open(const std::string& name, const std::filesystem::path& socket,
                           const std::filesystem::path& config) {
    auto listener = guard_region::listen_at(socket, SOCK_SEQPACKET);
    if (!listener) return std::move(listener).error();
    {
        const std::scoped_lock lock(mutex_);
        doors_[name] = {.listener = *std::move(listener), .config = config, .untaken = {}};
    }
    wake();
    return Done{};
}

void Sockets::close(const std::string& name) {
    {
        const std::scoped_lock lock(mutex_);
        doors_.erase(name);
        keeper_.remove(name);
    }
    wake();
}

/// Under the lock: forgets what is over. Whether there is something to look at again without news.
bool Sockets::is_paused() {
    const auto now = std::chrono::steady_clock::now();
    const bool begins = now - window_ >= kWindow;
    if (begins) window_ = now;
    bool paused = false;
    for (auto& [name, door] : doors_) {
        if (begins) door.answers = 0;
        std::erase_if(door.untaken,
                      [](const Descriptor& one) { return guard_region::was_taken(one.get()); });
        paused = paused || !door.untaken.empty() || door.answers >= kMostAnswers;
    }
    return paused;
}

void Sockets::serve() {
    constexpr int kPauseMs = 50;
    constexpr int kWithoutWakeMs = 1000;
    std::vector<pollfd> watched;
    std::vector<std::string> names;
    for (;;) {
        int limit = wake_ ? -1 : kWithoutWakeMs;
        watched.assign(1, {.fd = wake_.get(), .events = POLLIN, .revents = 0});
        names.clear();
        {
            const std::scoped_lock lock(mutex_);
            if (ends_) return;
            if (is_paused()) limit = kPauseMs;
            for (const auto& [name, door] : doors_) {
                if (door.untaken.size() >= kMostUntaken || door.answers >= kMostAnswers) continue;
                watched.push_back({.fd = door.listener.get(), .events = POLLIN, .revents = 0});
                names.push_back(name);
            }
        }
        if (::poll(watched.data(), watched.size(), limit) <= 0) continue;
        std::uint64_t news = 0;
        if ((watched[0].revents & POLLIN) != 0) (void)!::read(wake_.get(), &news, sizeof news);
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (watched[i + 1].revents != 0) answer(names[i]);
        }
    }
}

void Sockets::answer(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    const auto found = doors_.find(name);
    if (found == doors_.end()) return;
    Door& door = found->second;
    ++door.answers;  // also one that failed: without descriptors it is tried again, not at once
    Descriptor connection(
        ::accept4(door.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            door.answers = kMostAnswers;
        return;
    }
    if (!hand_over(name, door, connection.get())) return;
    if (!guard_region::was_taken(connection.get())) door.untaken.push_back(std::move(connection));
}

bool Sockets::hand_over(const std::string& name, Door& door, int connection) {
    const auto pages = keeper_.open(name, door.config);
    if (pages) {
        send(connection, *pages);
        return true;
    }
    if (!door.warned) log::warning("guard.no_turns", {{"why", pages.error().message}});
    door.warned = true;
    return false;
}

}  // namespace aliquot::turns
