// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// A cap: so much GPU time per time, for all processes of the container together. Work is paid for
/// when it is launched, by what it is expected to take, and settled when the device has done it; a
/// debt is kept and paid back by waiting.
namespace aliquot::guard {

/// Takes what work is expected to need.
void reserve_time(unsigned place, std::uint64_t expected_ns);
/// Work that `expected_ns` was reserved for is done: it took `ns`.
void settle_time(unsigned place, std::uint64_t expected_ns, std::uint64_t ns);
/// That work will not come.
inline void give_back_time(unsigned place, std::uint64_t expected_ns) {
    settle_time(place, expected_ns, 0);
}

/// Refills, then: how much there is; below 0: a debt.
std::int64_t time_left(unsigned place, std::uint32_t cap_ppm, std::uint64_t now_ns);
/// How long until a debt is paid.
inline std::uint64_t time_to_pay(std::int64_t left_ns, std::uint32_t cap_ppm) {
    return left_ns >= 0 ? 0 : static_cast<std::uint64_t>(-left_ns) * 1'000'000 / cap_ppm + 1;
}

}  // namespace aliquot::guard
