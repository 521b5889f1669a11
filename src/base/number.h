// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "base/text.h"

/// Numbers as text, without locale. Pure.
namespace aliquot {

/// The number that begins `text`, which is cut to what follows it; empty: none begins there, or it does
/// not fit `Number`. No blank, no '+', no "0x" before it; '-' where `Number` has a sign. Decimals may
/// have an exponent and must be finite.
template <class Number>
std::optional<Number> take_number(std::string_view& text, int base = 10) {
    Number value{};
    const char* const end = text.data() + text.size();
    std::from_chars_result read{};
    if constexpr (std::is_floating_point_v<Number>) {
        read = std::from_chars(text.data(), end, value);
        if (read.ec == std::errc{} && !std::isfinite(value)) return std::nullopt;
    } else {
        read = std::from_chars(text.data(), end, value, base);
    }
    if (read.ec != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    return value;
}

/// The number that the whole text is, as above.
template <class Number>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
    const auto value = take_number<Number>(text, base);
    return text.empty() ? value : std::nullopt;
}

/// The number at the front of a text, behind blanks; what follows does not count: 580 of " 580.95".
template <class Number = std::int64_t>
std::optional<Number> leading_number(std::string_view text) {
    text = trim(text);
    return take_number<Number>(text);
}

/// Hexadecimal, with or without "0x", blanks around it: what the kernel writes into /sys.
std::optional<std::uint64_t> parse_hex(std::string_view text);

/// As parse_number<double>, but digits and a point only: "1e3" is none.
std::optional<double> parse_decimal(std::string_view text);

/// So many decimals: "95.60". What is not finite is 0: JSON has no word for it.
std::string fixed_text(double value, int decimals);
/// At most so many, without zeros at the end: 95.6, 100, -0.25; never "-0".
std::string decimal_text(double value, int decimals = 2);

}  // namespace aliquot
