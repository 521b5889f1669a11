// SPDX-License-Identifier: Apache-2.0
#include "guard/bucket.h"

#include "guard/session.h"

namespace aliquot::guard {
namespace {

constexpr std::int64_t kBurst = 20'000'000;              // what can be saved up
constexpr std::int64_t kDebt = -20'000'000'000;          // and owed
constexpr std::uint64_t kMostElapsed = 600'000'000'000;  // since the last refill that counts
constexpr std::uint64_t kSameClock = 1'000'000'000;

void refill(abi::DeviceLedger& totals, std::uint32_t cap_ppm, std::uint64_t now) {
    std::uint64_t last = totals.refilled_ns.load(std::memory_order_relaxed);
    if (last >= now && last - now < kSameClock) return;  // another thread was faster
    if (!totals.refilled_ns.compare_exchange_strong(last, now)) return;
    // A time to come is of another clock: of before a reboot, or of another time namespace.
    if (last == 0 || last > now) return;
    const std::uint64_t elapsed = now - last < kMostElapsed ? now - last : kMostElapsed;
    const auto more = static_cast<std::int64_t>(elapsed * cap_ppm / 1'000'000);
    std::int64_t tokens = totals.tokens_ns.load(std::memory_order_relaxed);
    std::int64_t filled = 0;
    do {
        const std::int64_t owed = tokens > kDebt ? tokens : kDebt;
        filled = owed + more < kBurst ? owed + more : kBurst;
    } while (!totals.tokens_ns.compare_exchange_weak(tokens, filled));
}

}  // namespace

void reserve_time(unsigned place, std::uint64_t expected_ns) {
    g_ledger.totals(place).tokens_ns.fetch_sub(static_cast<std::int64_t>(expected_ns),
                                               std::memory_order_relaxed);
}

void settle_time(unsigned place, std::uint64_t expected_ns, std::uint64_t ns) {
    g_ledger.totals(place).tokens_ns.fetch_add(
        static_cast<std::int64_t>(expected_ns) - static_cast<std::int64_t>(ns),
        std::memory_order_relaxed);
}

std::int64_t time_left(unsigned place, std::uint32_t cap_ppm, std::uint64_t now_ns) {
    abi::DeviceLedger& totals = g_ledger.totals(place);
    refill(totals, cap_ppm, now_ns);
    return totals.tokens_ns.load(std::memory_order_relaxed);
}

}  // namespace aliquot::guard
