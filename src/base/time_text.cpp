// SPDX-License-Identifier: Apache-2.0
#include "base/time_text.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "base/number.h"
#include "base/text.h"

namespace aliquot {
namespace {

using namespace std::chrono;

std::string write(system_clock::time_point time, bool micro) {
    const auto day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss<microseconds> clock(floor<microseconds>(time - day));
    std::array<char, 64> text{};
    const int size = std::snprintf(
        text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ",
        static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()),
        static_cast<int>(clock.subseconds().count()));
    std::string made(text.data(), static_cast<std::size_t>(size));
    if (!micro) made.erase(made.size() - 8, 7);
    return made;
}

/// The `size` digits at the front, taken off; more than `most`: empty.
std::optional<int> take_digits(std::string_view& text, std::size_t size, int most) {
    for (std::size_t i = 0; i < size; ++i) {
        if (i >= text.size() || !is_digit(text[i])) return std::nullopt;
    }
    const auto value = parse_number<int>(text.substr(0, size));
    text.remove_prefix(size);
    return value && *value <= most ? value : std::nullopt;
}

bool take(std::string_view& text, char expected) {
    if (text.empty() || (text.front() != expected && text.front() != lower(expected))) return false;
    text.remove_prefix(1);
    return true;
}

std::optional<nanoseconds> take_fraction(std::string_view& text) {
    nanoseconds part{0};
    if (!take(text, '.')) return part;
    if (text.empty() || !is_digit(text.front())) return std::nullopt;
    for (std::int64_t unit = 100'000'000; !text.empty() && is_digit(text.front()); unit /= 10) {
        part += nanoseconds((text.front() - '0') * unit);
        text.remove_prefix(1);
    }
    return part;
}

std::optional<minutes> take_offset(std::string_view& text) {
    if (take(text, 'Z')) return minutes(0);
    const bool west = text.starts_with('-');
    if (!west && !text.starts_with('+')) return std::nullopt;
    text.remove_prefix(1);
    const auto hour = take_digits(text, 2, 23);
    if (!hour || !take(text, ':')) return std::nullopt;
    const auto minute = take_digits(text, 2, 59);
    if (!minute) return std::nullopt;
    const auto offset = hours(*hour) + minutes(*minute);
    return west ? -offset : offset;
}

}  // namespace

std::string rfc3339(system_clock::time_point time) { return write(time, false); }
std::string rfc3339_micro(system_clock::time_point time) { return write(time, true); }

std::optional<milliseconds> parse_duration(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
        {{"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}, {"d", 24 * 3600e3}}};
    const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789."));
    const auto number = parse_decimal(digits);
    text.remove_prefix(digits.size());
    for (const auto& [name, scale] : kUnits) {
        if (!number || text != name) continue;
        constexpr double kMost = 292.0 * 365 * 24 * 3600e3;
        if (*number * scale > kMost) return std::nullopt;
        return milliseconds(static_cast<std::int64_t>(*number * scale + 0.5));
    }
    return std::nullopt;
}

std::optional<system_clock::time_point> parse_rfc3339(std::string_view text) {
    std::array<int, 6> parts{};  // year to second
    constexpr std::array<int, 6> kMost{9999, 12, 31, 23, 59, 60};
    constexpr std::string_view kEnds = "--T::";
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto part = take_digits(text, i == 0 ? 4 : 2, kMost.at(i));
        if (!part || (i < kEnds.size() && !take(text, kEnds[i]))) return std::nullopt;
        parts.at(i) = *part;
    }
    const year_month_day date(year(parts[0]), month(static_cast<unsigned>(parts[1])),
                              day(static_cast<unsigned>(parts[2])));
    const auto fraction = take_fraction(text);
    const auto offset = take_offset(text);
    if (!date.ok() || !fraction || !offset || !text.empty()) return std::nullopt;
    const auto whole =
        sys_days(date) + hours(parts[3]) + minutes(parts[4]) + seconds(parts[5]) - *offset;
    return time_point_cast<system_clock::duration>(whole) +
           duration_cast<system_clock::duration>(*fraction);
}

}  // namespace aliquot
