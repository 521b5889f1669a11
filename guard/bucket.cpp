// SPDX-License-Identifier: Apache-2.0
#include "guard/bucket.h"

#include "guard/kernel.h"
#include "guard/session.h"

namespace aliquot::guard {
namespace {

constexpr std::int64_t kBurst = 20'000'000;             // what can be saved up
constexpr std::int64_t kDebt = -10'000'000'000;         // and owed
constexpr std::uint64_t kMostElapsed = 60'000'000'000;  // since the last refill that counts

void refill(abi::DeviceLedger& totals, std::uint32_t cap_ppm) {
    const std::uint64_t now = kernel::now_ns();
    std::uint64_t last = totals.refilled_ns.load(std::memory_order_relaxed);
    if (now <= last || !totals.refilled_ns.compare_exchange_strong(last, now)) return;
    if (last == 0) return;
    // Full after that long a pause, whatever the cap; a debt goes on being paid.
    const std::uint64_t elapsed = now - last < kMostElapsed ? now - last : kMostElapsed;
    const auto more = static_cast<std::int64_t>(elapsed * cap_ppm / 1'000'000);
    std::int64_t tokens = totals.tokens_ns.load(std::memory_order_relaxed);
    std::int64_t filled = 0;
    do {
        filled = tokens + more < kBurst ? tokens + more : kBurst;
    } while (!totals.tokens_ns.compare_exchange_weak(tokens, filled));
}

}  // namespace

void charge_time(unsigned place, std::uint64_t ns) {
    abi::DeviceLedger& totals = g_ledger.totals(place);
    totals.gpu_ns.fetch_add(ns, std::memory_order_relaxed);
    const std::int64_t left =
        totals.tokens_ns.fetch_sub(static_cast<std::int64_t>(ns), std::memory_order_relaxed);
    if (left < kDebt) totals.tokens_ns.store(kDebt, std::memory_order_relaxed);
}

std::uint64_t time_until_allowed(unsigned place, std::uint32_t cap_ppm) {
    abi::DeviceLedger& totals = g_ledger.totals(place);
    refill(totals, cap_ppm);
    const std::int64_t tokens = totals.tokens_ns.load(std::memory_order_relaxed);
    if (tokens >= 0) return 0;
    return static_cast<std::uint64_t>(-tokens) * 1'000'000 / cap_ppm + 1;
}

}  // namespace aliquot::guard
