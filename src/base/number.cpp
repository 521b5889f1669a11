// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"

#include <array>
#include <cstdio>

namespace aliquot {

std::optional<std::uint64_t> parse_hex(std::string_view text) {
    text = trim(text);
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    return parse_number<std::uint64_t>(text, 16);
}

std::optional<double> parse_decimal(std::string_view text) {
    const bool plain = text.find_first_not_of("0123456789.-") == std::string_view::npos;
    return plain ? parse_number<double>(text) : std::nullopt;
}

std::string fixed_text(double value, int decimals) {
    if (!std::isfinite(value)) value = 0;
    std::array<char, 400> text{};  // the longest double has 309 digits before its point
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return text.data();
}

std::string decimal_text(double value, int decimals) {
    std::string text = fixed_text(value, decimals);
    if (text.find('.') != std::string::npos) {
        while (text.back() == '0') text.pop_back();
        if (text.back() == '.') text.pop_back();
    }
    return text == "-0" ? "0" : text;
}

}  // namespace aliquot
