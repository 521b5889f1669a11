// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/quantity.h"

#include <array>
#include <charconv>
#include <limits>

namespace aliquot::sim::cluster {
namespace {

using Wide = __int128;

struct Unit {
    std::string_view suffix;
    Wide multiplier;  // of a thousandth of a thousandth of a thousandth, so that "n" is 1
};
constexpr Wide kOne = 1'000'000'000;
constexpr auto kUnits = std::to_array<Unit>({{"", kOne},
                                             {"n", 1},
                                             {"u", 1000},
                                             {"m", 1000'000},
                                             {"k", kOne * 1000},
                                             {"M", kOne * 1000'000},
                                             {"G", kOne * 1000'000'000},
                                             {"T", kOne * 1000'000'000'000},
                                             {"P", kOne * 1000'000'000'000'000},
                                             {"E", kOne * 1000'000'000'000'000'000},
                                             {"Ki", kOne << 10U},
                                             {"Mi", kOne << 20U},
                                             {"Gi", kOne << 30U},
                                             {"Ti", kOne << 40U},
                                             {"Pi", kOne << 50U},
                                             {"Ei", kOne << 60U}});
constexpr Wide kNanosPerMilli = 1000'000;
constexpr Wide kLimit = Wide{std::numeric_limits<std::int64_t>::max()} * kNanosPerMilli;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "e3", "E-3": the multiplier of 10 to that power; 0: not an exponent.
Wide exponent_multiplier(std::string_view suffix) {
    if (suffix.size() < 2 || (suffix.front() != 'e' && suffix.front() != 'E')) return 0;
    suffix.remove_prefix(suffix[1] == '+' ? 2 : 1);
    int power = 0;
    const char* const end = suffix.data() + suffix.size();
    const auto [stop, problem] = std::from_chars(suffix.data(), end, power);
    if (problem != std::errc{} || stop != end || power < -9 || power > 18) return 0;
    Wide multiplier = kOne;
    for (; power > 0; --power) multiplier *= 10;
    for (; power < 0; ++power) multiplier /= 10;
    return multiplier;
}

Wide multiplier_of(std::string_view suffix) {
    for (const Unit& unit : kUnits) {
        if (unit.suffix == suffix) return unit.multiplier;
    }
    return exponent_multiplier(suffix);
}

}  // namespace

std::optional<std::int64_t> parse_quantity_milli(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    constexpr std::size_t kMaxDigits = 18;  // whole and fraction together stay inside 128 bits
    Wide digits = 0;
    Wide scale = 1;
    std::size_t count = 0;
    bool point = false;
    std::size_t at = 0;
    for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
        if (text[at] == '.') {
            point = true;
            continue;
        }
        digits = digits * 10 + (text[at] - '0');
        if (point) scale *= 10;
        if (++count > kMaxDigits) return std::nullopt;
    }
    const Wide multiplier = multiplier_of(text.substr(at));
    if (count == 0 || multiplier == 0) return std::nullopt;
    if (digits != 0 && multiplier > (kLimit * scale) / digits) return std::nullopt;
    const Wide nanos = digits * multiplier;
    const Wide divisor = scale * kNanosPerMilli;
    return static_cast<std::int64_t>((nanos + divisor - 1) / divisor);
}

}  // namespace aliquot::sim::cluster
