// SPDX-License-Identifier: Apache-2.0
#include "k8s/quantity.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/number.h"
#include "base/text.h"

namespace aliquot::k8s {
namespace {

using Format = Quantity::Format;
using Nanos = Quantity::Nanos;

constexpr int kNanoDigits = 9;
constexpr Nanos kOne = 1'000'000'000;
constexpr Nanos kMilli = 1'000'000;
constexpr Nanos kMost = std::numeric_limits<std::int64_t>::max();
constexpr int kMostDigits = 37;  // of nanos: 10^37 is below 2^127

struct Suffix {
    std::string_view text;
    int exponent;  // of 10, or of 2
};
constexpr auto kDecimal = std::to_array<Suffix>({{"E", 18},
                                                 {"P", 15},
                                                 {"T", 12},
                                                 {"G", 9},
                                                 {"M", 6},
                                                 {"k", 3},
                                                 {"", 0},
                                                 {"m", -3},
                                                 {"u", -6},
                                                 {"n", -9}});
constexpr auto kBinary =
    std::to_array<Suffix>({{"Ei", 60}, {"Pi", 50}, {"Ti", 40}, {"Gi", 30}, {"Mi", 20}, {"Ki", 10}});

template <class Table>
const Suffix* find(const Table& table, std::string_view text) {
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const Suffix& one) { return one.text == text; });
    return found == table.end() ? nullptr : &*found;
}

/// "e3", "E-3", "e+3".
std::optional<int> exponent_of(std::string_view suffix) {
    if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
    suffix.remove_prefix(suffix[1] == '+' && suffix.substr(2, 1) != "-" ? 2 : 1);
    const auto exponent = parse_number<int>(suffix);
    constexpr int kLongest = 1'000'000;
    return exponent && *exponent <= kLongest && *exponent >= -kLongest ? exponent : std::nullopt;
}

/// digits * 10^shift, rounded up; empty: too much.
std::optional<Nanos> scaled(std::string_view digits, int shift) {
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    bool rest = false;
    for (; shift < 0 && !digits.empty(); ++shift) {
        rest = rest || digits.back() != '0';
        digits.remove_suffix(1);
    }
    if (digits.empty()) return rest ? 1 : 0;
    if (static_cast<long>(digits.size()) + shift > kMostDigits) return std::nullopt;
    Nanos value = 0;
    for (const char digit : digits) value = value * 10 + (digit - '0');
    for (; shift > 0; --shift) value *= 10;
    return value + (rest ? 1 : 0);
}

/// whole.fraction * 2^exponent in billionths, rounded up, at most 2^63-1 ones.
Nanos shifted(std::string_view whole, std::string_view fraction, int exponent) {
    Nanos ones = 0;
    for (const char digit : whole) {
        ones = ones * 10 + (digit - '0');
        if (ones > (kMost >> exponent)) return kMost * kOne;
    }
    const Nanos unit = kOne << exponent;
    Nanos part = 0;
    bool rest = false;
    for (auto digit = fraction.rbegin(); digit != fraction.rend(); ++digit) {
        part += (*digit - '0') * unit;
        rest = rest || part % 10 != 0;
        part /= 10;
    }
    return std::min(ones * unit + part + (rest ? 1 : 0), kMost * kOne);
}

std::string spelled(Nanos value) {
    std::string digits;
    const bool negative = value < 0;
    do {
        const int digit = static_cast<int>(value % 10);
        digits += static_cast<char>('0' + (negative ? -digit : digit));
        value /= 10;
    } while (value != 0);
    if (negative) digits += '-';
    std::reverse(digits.begin(), digits.end());
    return digits;
}

/// value / unit, rounded away from 0.
std::optional<std::int64_t> rounded(Nanos value, Nanos unit) {
    const Nanos parts = value / unit + (value % unit == 0 ? 0 : value > 0 ? 1 : -1);
    if (parts > kMost || parts < -kMost) return std::nullopt;
    return static_cast<std::int64_t>(parts);
}

}  // namespace

std::optional<Quantity> Quantity::parse(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    const auto digits_at = [&](std::size_t from) {
        std::size_t end = from;
        while (end < text.size() && is_digit(text[end])) ++end;
        return text.substr(from, end - from);
    };
    const std::string_view whole = digits_at(0);
    std::size_t at = whole.size();
    std::string_view fraction;
    if (at < text.size() && text[at] == '.') {
        fraction = digits_at(at + 1);
        at += 1 + fraction.size();
    }
    if (whole.empty() && fraction.empty()) return std::nullopt;
    const std::string_view suffix = text.substr(at);
    Format format = Format::kDecimal;
    std::optional<Nanos> nanos;
    if (const Suffix* const binary = find(kBinary, suffix)) {
        nanos = shifted(whole, fraction, binary->exponent);
        format = *nanos > 0 && *nanos < kOne ? Format::kDecimal : Format::kBinary;
    } else {
        int exponent = 0;
        if (const Suffix* const decimal = find(kDecimal, suffix)) {
            exponent = decimal->exponent;
        } else {
            const auto read = exponent_of(suffix);
            if (!read) return std::nullopt;
            exponent = *read;
            format = Format::kExponent;
        }
        const std::string digits = std::string(whole) + std::string(fraction);
        nanos = scaled(digits, kNanoDigits + exponent - static_cast<int>(fraction.size()));
    }
    if (!nanos) return std::nullopt;
    return Quantity(negative ? -*nanos : *nanos, format);
}

std::optional<Quantity> Quantity::parse_field(std::string_view text) { return parse(trim(text)); }

double Quantity::value() const {
    constexpr Nanos kExact = Nanos{1} << std::numeric_limits<double>::digits;
    if (nanos_ < kExact && nanos_ > -kExact) return static_cast<double>(nanos_) / 1e9;
    const Nanos whole = nanos_ / kOne;
    return static_cast<double>(whole) + static_cast<double>(nanos_ % kOne) / 1e9;
}

std::optional<std::int64_t> Quantity::ones() const { return rounded(nanos_, kOne); }
std::optional<std::int64_t> Quantity::thousandths() const { return rounded(nanos_, kMilli); }

std::string Quantity::canonical() const {
    if (nanos_ == 0) return "0";
    const Nanos ones = nanos_ / kOne;
    const bool whole = nanos_ % kOne == 0;
    constexpr Nanos kLeastBinary = 1024;
    if (format_ == Format::kBinary && whole && (ones >= kLeastBinary || ones <= -kLeastBinary)) {
        for (const Suffix& suffix : kBinary) {
            const Nanos unit = Nanos{1} << suffix.exponent;
            if (ones % unit == 0) return spelled(ones / unit) + std::string(suffix.text);
        }
        return spelled(ones);
    }
    int exponent = -kNanoDigits;
    const int most = format_ == Format::kExponent ? kMostDigits : kDecimal.front().exponent;
    Nanos mantissa = nanos_;
    for (; mantissa % 1000 == 0 && exponent + 3 <= most; exponent += 3) mantissa /= 1000;
    if (format_ == Format::kExponent) {
        return spelled(mantissa) + (exponent == 0 ? "" : "e" + std::to_string(exponent));
    }
    const auto suffix = std::find_if(kDecimal.begin(), kDecimal.end(),
                                     [&](const Suffix& one) { return one.exponent == exponent; });
    return spelled(mantissa) + std::string(suffix->text);
}

std::optional<double> quantity_value(std::string_view text) {
    const auto read = Quantity::parse_field(text);
    if (!read) return std::nullopt;
    return read->value();
}

}  // namespace aliquot::k8s
