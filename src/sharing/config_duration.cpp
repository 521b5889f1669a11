// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

struct Unit {
    std::string_view name;
    std::int64_t nanoseconds;
};
// Longer names first, so that "ms" is not taken for "m".
constexpr std::array<Unit, 8> kUnits{{{"ns", 1},
                                      {"us", 1000},
                                      {"\xc2\xb5s", 1000},  // micro sign
                                      {"\xce\xbcs", 1000},  // Greek mu
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"h", 3'600'000'000'000}}};

}  // namespace

std::optional<std::int64_t> parse_go_duration(std::string_view text) {
    bool minus = false;
    if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
        minus = text.front() == '-';
        text.remove_prefix(1);
    }
    if (text == "0") return 0;
    if (text.empty()) return std::nullopt;
    constexpr long double kMost = 9.2e18L;  // just below 2^63
    long double total = 0;
    while (!text.empty()) {
        long double value = 0;
        long double scale = 1;
        bool point = false;
        std::size_t digits = 0;
        std::size_t at = 0;
        for (; at < text.size(); ++at) {
            const char c = text[at];
            if (c == '.' && !point) {
                point = true;
            } else if (c >= '0' && c <= '9') {
                value = value * 10 + static_cast<long double>(c - '0');
                if (point) scale *= 10;
                if (value > kMost || scale > kMost) return std::nullopt;
                ++digits;
            } else {
                break;
            }
        }
        if (digits == 0) return std::nullopt;
        text.remove_prefix(at);
        const Unit* found = nullptr;
        for (const Unit& unit : kUnits) {
            if (found == nullptr && text.substr(0, unit.name.size()) == unit.name) found = &unit;
        }
        if (found == nullptr) return std::nullopt;
        total += value / scale * static_cast<long double>(found->nanoseconds);
        if (total > kMost) return std::nullopt;
        text.remove_prefix(found->name.size());
    }
    const auto nanoseconds = static_cast<std::int64_t>(total);
    return minus ? -nanoseconds : nanoseconds;
}

}  // namespace aliquot::sharing
