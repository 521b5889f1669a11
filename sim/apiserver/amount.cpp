// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/amount.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/apiserver/words.h"

namespace aliquot::sim::apiserver {

namespace {

enum class Format { kDecimal, kBinary, kExponent };

/// Nanos: the finest a quantity can say.
using Nanos = __int128;
constexpr Nanos kOne = 1'000'000'000;

struct Amount {
    Nanos nanos = 0;
    Format format = Format::kDecimal;
};

struct Suffix {
    std::string_view text;
    int exponent;  // of 10, or of 2
    Format format;
};

constexpr std::array<Suffix, 17> kSuffixes = {{{"", 0, Format::kDecimal},
                                               {"n", -9, Format::kDecimal},
                                               {"u", -6, Format::kDecimal},
                                               {"m", -3, Format::kDecimal},
                                               {"k", 3, Format::kDecimal},
                                               {"M", 6, Format::kDecimal},
                                               {"G", 9, Format::kDecimal},
                                               {"T", 12, Format::kDecimal},
                                               {"P", 15, Format::kDecimal},
                                               {"E", 18, Format::kDecimal},
                                               {"Ki", 10, Format::kBinary},
                                               {"Mi", 20, Format::kBinary},
                                               {"Gi", 30, Format::kBinary},
                                               {"Ti", 40, Format::kBinary},
                                               {"Pi", 50, Format::kBinary},
                                               {"Ei", 60, Format::kBinary},
                                               {"-", 0, Format::kDecimal}}};

Nanos power(Nanos base, int exponent) {
    Nanos value = 1;
    for (int i = 0; i < exponent; ++i) value *= base;
    return value;
}

std::optional<Amount> parse(std::string_view text) {
    Amount amount;
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    Nanos digits = 0;
    int places = 0;
    bool point = false;
    bool any = false;
    std::size_t at = 0;
    for (; at < text.size(); ++at) {
        if (text[at] == '.' && !point) {
            point = true;
            continue;
        }
        if (text[at] < '0' || text[at] > '9') break;
        any = true;
        if (places >= 9 || digits > (Nanos{1} << 90)) continue;
        digits = digits * 10 + (text[at] - '0');
        places += point ? 1 : 0;
    }
    if (!any) return std::nullopt;
    const std::string_view suffix = text.substr(at);
    int exponent = 0;
    Nanos factor = 1;
    if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E')) {
        std::string_view number = suffix.substr(1);
        if (number.starts_with('+')) number.remove_prefix(1);
        const auto value = parse_integer(number);
        if (!value || *value < -9 || *value > 18) return std::nullopt;
        exponent = static_cast<int>(*value);
        amount.format = Format::kExponent;
    } else {
        const auto* known = std::ranges::find(kSuffixes, suffix, &Suffix::text);
        if (known == kSuffixes.end() || suffix == "-") return std::nullopt;
        amount.format = known->format;
        if (known->format == Format::kBinary) {
            factor = power(2, known->exponent);
        } else {
            exponent = known->exponent;
        }
    }
    const int shift = 9 - places + exponent;
    if (digits > (Nanos{1} << 63)) return std::nullopt;
    amount.nanos = digits * factor;
    if (shift >= 0) {
        amount.nanos *= power(10, shift);
    } else {
        const Nanos divisor = power(10, -shift);
        amount.nanos = (amount.nanos + divisor - 1) / divisor;  // upwards, as the rule is
    }
    if (negative) amount.nanos = -amount.nanos;
    return amount;
}

std::string spell(Nanos value) {
    if (value < 0) return "-" + spell(-value);
    std::string digits;
    do {
        digits += static_cast<char>('0' + static_cast<int>(value % 10));
        value /= 10;
    } while (value > 0);
    std::ranges::reverse(digits);
    return digits;
}

}  // namespace

std::optional<std::string> canonical_amount(std::string_view text) {
    const auto amount = parse(text);
    if (!amount) return std::nullopt;
    if (amount->nanos == 0) return "0";
    const bool whole = amount->nanos % kOne == 0;
    const Nanos ones = amount->nanos / kOne;
    if (amount->format == Format::kBinary && whole && (ones >= 1024 || ones <= -1024)) {
        for (std::size_t i = 16; i-- > 10;) {
            const Nanos unit = power(2, kSuffixes[i].exponent);
            if (ones % unit == 0) return spell(ones / unit) + std::string(kSuffixes[i].text);
        }
        return spell(ones);
    }
    for (int exponent = 18; exponent >= -9; exponent -= 3) {
        const Nanos unit = exponent >= -9 ? power(10, exponent + 9) : 1;
        if (amount->nanos % unit != 0) continue;
        const std::string number = spell(amount->nanos / unit);
        if (exponent == 0) return number;
        if (amount->format == Format::kExponent) return number + "e" + std::to_string(exponent);
        for (const Suffix& suffix : kSuffixes) {
            if (suffix.format == Format::kDecimal && suffix.exponent == exponent) {
                return number + std::string(suffix.text);
            }
        }
    }
    return spell(amount->nanos) + "n";
}

std::optional<double> amount_value(std::string_view text) {
    const auto amount = parse(text);
    if (!amount) return std::nullopt;
    return static_cast<double>(amount->nanos) / 1e9;
}

}  // namespace aliquot::sim::apiserver
