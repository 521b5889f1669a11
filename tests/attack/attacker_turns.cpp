// SPDX-License-Identifier: Apache-2.0
// Lies on the page of wants: a container that speaks to the arbiter as a guard does, without a GPU.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <ctime>

#include "abi/turns.h"
#include "tests/attack/attacker.h"

namespace aliquot::attack {
namespace {

/// The pages of this container, as the agent hands them out; no page: there are none.
struct Pages {
    abi::WantsPage* wants = nullptr;
    const abi::TurnsPage* turns = nullptr;
};

Pages take_pages() {
    constexpr std::size_t kPage = 4096;
    Pages pages;
    for (const int one : descriptors_of_sockets()) {
        std::uint64_t magic = 0;
        const bool reads = ::pread(one, &magic, sizeof magic, 0) == sizeof magic;
        if (reads && magic == abi::kWantsMagic && pages.wants == nullptr) {
            void* const at = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, one, 0);
            if (at != MAP_FAILED) pages.wants = static_cast<abi::WantsPage*>(at);
        } else if (reads && magic == abi::kTurnsMagic && pages.turns == nullptr) {
            void* const at = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, one, 0);
            if (at != MAP_FAILED) pages.turns = static_cast<const abi::TurnsPage*>(at);
        }
        ::close(one);
    }
    return pages;
}

std::uint64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    constexpr std::uint64_t kSecond = 1'000'000'000;
    return static_cast<std::uint64_t>(time.tv_sec) * kSecond +
           static_cast<std::uint64_t>(time.tv_nsec);
}

void tell(abi::WantsPage& wants) {
    wants.changes.fetch_add(1);
    ::syscall(SYS_futex, &wants.changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Asks until it has both pages or the time is over.
Pages wait_for_pages(const Deadline& deadline) {
    Pages pages = take_pages();
    while (!deadline.over() && (pages.wants == nullptr || pages.turns == nullptr)) {
        ::usleep(20'000);
        pages = take_pages();
    }
    return pages;
}

/// answers   says that its work ends soon, and gives three turns of four back then
void ask_for_ever(const Deadline& deadline, std::minstd_rand& dice, bool answers) {
    const Pages pages = wait_for_pages(deadline);
    if (pages.wants == nullptr || pages.turns == nullptr) return;
    constexpr std::uint64_t kSoonNs = 150'000;
    constexpr unsigned kSoonUs = 150;
    for (std::uint32_t asked = 1; !deadline.over(); ++asked) {
        for (unsigned i = 0; i < abi::kRegionDevices; ++i) {
            abi::Demand& demand = pages.wants->devices[i];
            const std::uint32_t word = pages.turns->devices[i].word.load();
            demand.asked = asked | 1U;
            demand.rests = 0;
            if (!answers) continue;
            demand.busy_until_ns = now_ns() + kSoonNs;
            const bool gives_back = (word & abi::kTurnMine) != 0 && dice() % 4 != 0;
            if (gives_back) demand.done = word >> abi::kTurnGrantShift;
        }
        tell(*pages.wants);
        ::usleep(answers ? kSoonUs : 2'000);
    }
}

void false_ends(const Deadline& deadline, std::minstd_rand& dice) {
    ask_for_ever(deadline, dice, true);
}

void never_answers(const Deadline& deadline, std::minstd_rand& dice) {
    ask_for_ever(deadline, dice, false);
}

}  // namespace

std::vector<Attack> turn_attacks() {
    return {{"false_ends", false_ends}, {"never_answers", never_answers}};
}

}  // namespace aliquot::attack
