// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cost/interval.h"

namespace aliquot::cost {

inline constexpr int kCents = 2;  // digits of an amount as people read it

/// "2026-11-27T14:00:00Z"
std::string time_text(TimeMs at);
double kwh_of(std::uint64_t millijoules);

/// "12.345678" of 12345678; "-0.5": exact, without zeros at its end but for two digits.
std::string money_text(Micros amount);
/// Rounded to so many digits, halves away from zero: "12.35".
std::string money_text(Micros amount, int digits);
/// "0.526" and the like, exact to the millionth. Empty: no such text, less than 0, or more than kMostRate.
std::optional<Micros> parse_money(std::string_view text);

}  // namespace aliquot::cost
