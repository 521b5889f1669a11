// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/guard/wake_meter.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "tests/contract/guard/probe.h"

namespace aliquot::guardkit {
namespace {

constexpr std::uint32_t kHandOvers = 300;

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
    while (word.load() == seen)
        ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void wake(std::atomic<std::uint32_t>& word) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

double percentile(const std::vector<std::uint64_t>& sorted, double part) {
    const auto at = static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1));
    return static_cast<double>(sorted[at]) / 1000;
}

}  // namespace

WakeTimes measure_wakes() {
    std::atomic<std::uint32_t> round{0};
    std::atomic<std::uint64_t> woken_ns{0};
    std::vector<std::uint64_t> took;
    std::thread sleeper([&] {
        for (std::uint32_t i = 0; i < kHandOvers; ++i) {
            sleep_while(round, i);
            took.push_back(now_ns() - woken_ns.load());
        }
    });
    for (std::uint32_t i = 1; i <= kHandOvers; ++i) {
        nap_us(1000);  // until it sleeps
        woken_ns.store(now_ns());
        round.store(i);
        wake(round);
    }
    sleeper.join();
    std::sort(took.begin(), took.end());
    return {.p50_us = percentile(took, 0.5),
            .p90_us = percentile(took, 0.9),
            .p99_us = percentile(took, 0.99)};
}

std::string to_text(const WakeTimes& wakes) {
    char text[96];
    std::snprintf(text, sizeof text, "p50 %.0f, p90 %.0f, p99 %.0f us", wakes.p50_us, wakes.p90_us,
                  wakes.p99_us);
    return text;
}

}  // namespace aliquot::guardkit
