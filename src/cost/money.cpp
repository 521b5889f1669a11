// SPDX-License-Identifier: Apache-2.0
#include "cost/money.h"

#include <chrono>

#include "base/number.h"
#include "base/time_text.h"

namespace aliquot::cost {
namespace {

constexpr int kMoneyDigits = 6;
constexpr double kMillijoulesPerKwh = 3.6e9;

}  // namespace

std::string money_text(Micros amount) {
    std::string text = money_text(amount, kMoneyDigits);
    while (text.ends_with('0') && text[text.size() - 3] != '.') text.pop_back();
    return text;
}

std::string money_text(Micros amount, int digits) {
    Micros unit = 1;
    for (int i = digits; i < kMoneyDigits; ++i) unit *= 10;
    const bool negative = amount < 0;
    const Micros rounded = ((negative ? -amount : amount) + unit / 2) / unit;
    Micros per_whole = 1;
    for (int i = 0; i < digits; ++i) per_whole *= 10;
    std::string text = negative && rounded != 0 ? "-" : "";
    text += std::to_string(rounded / per_whole);
    if (digits == 0) return text;
    std::string part = std::to_string(rounded % per_whole);
    part.insert(0, static_cast<std::size_t>(digits) - part.size(), '0');
    return text + "." + part;
}

std::optional<Micros> parse_money(std::string_view text) {
    const auto point = text.find('.');
    const auto whole = parse_number<std::uint64_t>(text.substr(0, point));
    if (!whole || *whole > static_cast<std::uint64_t>(kMostRate / kMicrosPerUnit)) {
        return std::nullopt;
    }
    Micros micros = static_cast<Micros>(*whole) * kMicrosPerUnit;
    if (point != std::string_view::npos) {
        const std::string_view digits = text.substr(point + 1);
        if (digits.empty() || digits.size() > kMoneyDigits) return std::nullopt;
        const auto part = parse_number<std::uint32_t>(digits);
        if (!part) return std::nullopt;
        Micros scaled = *part;
        for (std::size_t i = digits.size(); i < kMoneyDigits; ++i) scaled *= 10;
        micros += scaled;
    }
    if (micros > kMostRate) return std::nullopt;
    return micros;
}

std::string time_text(TimeMs at) {
    return rfc3339(std::chrono::system_clock::time_point(std::chrono::milliseconds(at)));
}

double kwh_of(std::uint64_t millijoules) {
    return static_cast<double>(millijoules) / kMillijoulesPerKwh;
}

}  // namespace aliquot::cost
