// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <climits>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "abi/turns.h"
#include "base/descriptor.h"

/// For tests: the other side of the pages for turns, as a guard has it.
namespace aliquot::turns {

/// What is handed over at a socket; none: nothing is. A guard waits no longer.
inline std::vector<Descriptor> pages_from(const std::filesystem::path& socket) {
    std::vector<Descriptor> files;
    const Descriptor wire(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const timeval patience{.tv_sec = 20, .tv_usec = 0};  // the machine may be busy
    ::setsockopt(wire.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket.native().copy(address.sun_path, sizeof address.sun_path - 1);
    if (::connect(wire.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return files;
    abi::TurnsHandOver head{};
    iovec part{.iov_base = &head, .iov_len = sizeof head};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(wire.get(), &message, MSG_CMSG_CLOEXEC) != sizeof head) return files;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_len != CMSG_LEN(2 * sizeof(int))) return files;
    std::array<int, 2> numbers{};
    std::memcpy(numbers.data(), CMSG_DATA(header), sizeof numbers);
    for (const int number : numbers) files.emplace_back(number);
    return files;
}

class FakeContainer {
public:
    explicit FakeContainer(std::vector<Descriptor> files) : files_(std::move(files)) {
        if (files_.size() != 2) return;
        wants_ = static_cast<abi::WantsPage*>(::mmap(nullptr, sizeof(abi::WantsPage),
                                                     PROT_READ | PROT_WRITE, MAP_SHARED,
                                                     files_[0].get(), 0));
        turns_ = static_cast<abi::TurnsPage*>(
            ::mmap(nullptr, sizeof(abi::TurnsPage), PROT_READ, MAP_SHARED, files_[1].get(), 0));
    }
    FakeContainer(FakeContainer&& other) noexcept
        : files_(std::move(other.files_)),
          wants_(std::exchange(other.wants_, nullptr)),
          turns_(std::exchange(other.turns_, nullptr)) {}
    FakeContainer& operator=(FakeContainer&&) = delete;
    ~FakeContainer() {
        if (wants_ != nullptr) ::munmap(wants_, sizeof(abi::WantsPage));
        if (turns_ != nullptr) ::munmap(turns_, sizeof(abi::TurnsPage));
    }

    [[nodiscard]] bool has_pages() const { return turns_ != nullptr; }
    [[nodiscard]] abi::WantsPage& wants() const { return *wants_; }
    [[nodiscard]] const abi::TurnsPage& turns() const { return *turns_; }
    [[nodiscard]] const std::vector<Descriptor>& files() const { return files_; }

    [[nodiscard]] std::uint32_t word(unsigned place = 0) const {
        return turns_->devices[place].word.load();
    }
    [[nodiscard]] bool is_mine(unsigned place = 0) const {
        const std::uint32_t now = word(place);
        return (now & abi::kTurnMine) != 0 &&
               now >> abi::kTurnGrantShift != wants_->devices[place].done.load();
    }
    void poke() const {
        wants_->changes.fetch_add(1);
        ::syscall(SYS_futex, &wants_->changes, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
    void ask(unsigned place = 0) {
        wants_->devices[place].asked.store(++asked_);
        poke();
    }
    void give_back(unsigned place = 0) const {
        wants_->devices[place].done.store(word(place) >> abi::kTurnGrantShift);
        poke();
    }
    /// Asks until it has the turn. False: not within the limit.
    bool take(std::chrono::milliseconds limit = std::chrono::seconds(20), unsigned place = 0) {
        const auto end = std::chrono::steady_clock::now() + limit;
        for (bool first = true; !is_mine(place); first = false) {
            if (std::chrono::steady_clock::now() >= end) return false;
            const std::uint32_t seen = word(place);
            wants_->devices[place].asked.store(++asked_);
            if (first) poke();
            if (is_mine(place)) break;
            const timespec renewal{.tv_sec = 0, .tv_nsec = 2'000'000};
            ::syscall(SYS_futex, &turns_->devices[place].word, FUTEX_WAIT, seen, &renewal);
        }
        return true;
    }

private:
    std::vector<Descriptor> files_;
    abi::WantsPage* wants_ = nullptr;
    abi::TurnsPage* turns_ = nullptr;
    std::uint32_t asked_ = 0;
};

}  // namespace aliquot::turns
