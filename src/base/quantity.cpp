// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <array>
#include <cstdio>
#include <limits>

#include "base/text.h"

namespace aliquot {
namespace {

struct Unit {
    std::string_view suffix;
    std::uint64_t bytes;
};
constexpr std::array<Unit, 9> kUnits{{{"", 1},
                                      {"k", 1000},
                                      {"M", 1000'000},
                                      {"G", 1000'000'000},
                                      {"T", 1000'000'000'000},
                                      {"Ki", 1ULL << 10U},
                                      {"Mi", 1ULL << 20U},
                                      {"Gi", 1ULL << 30U},
                                      {"Ti", 1ULL << 40U}}};

Error malformed(std::string_view text) {
    return {ErrorCode::kInvalidInput,
            "'" + std::string(text) + "' is not an amount of memory such as 512Mi or 3.5Gi"};
}

}  // namespace

Result<std::uint64_t> parse_bytes(std::string_view text) {
    std::size_t at = 0;
    unsigned __int128 digits = 0;  // the number without its point
    unsigned __int128 scale = 1;   // 10 to the number of digits behind the point
    bool any_digit = false;
    bool point = false;
    constexpr std::size_t kMaxLength = 24;  // keeps digits * unit inside 128 bits
    if (text.size() > kMaxLength) return malformed(text);
    for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
        if (text[at] == '.') {
            point = true;
            continue;
        }
        any_digit = true;
        digits = digits * 10 + static_cast<unsigned>(text[at] - '0');
        if (point) scale *= 10;
        if (digits > std::numeric_limits<std::uint64_t>::max()) return malformed(text);
    }
    if (!any_digit) return malformed(text);
    for (const Unit& unit : kUnits) {
        if (text.substr(at) != unit.suffix) continue;
        const unsigned __int128 bytes = (digits * unit.bytes + scale - 1) / scale;
        if (bytes > static_cast<unsigned __int128>(std::numeric_limits<std::int64_t>::max())) {
            return malformed(text);
        }
        return static_cast<std::uint64_t>(bytes);
    }
    return malformed(text);
}

std::string bytes_text(std::uint64_t bytes) {
    for (auto unit = kUnits.rbegin(); unit->suffix.size() == 2; ++unit) {
        if (bytes < unit->bytes) continue;
        const std::uint64_t whole = bytes / unit->bytes;
        const std::uint64_t hundredths = (bytes % unit->bytes) * 100 / unit->bytes;
        std::string text = std::to_string(whole);
        if (hundredths != 0) {
            std::array<char, 8> fraction{};
            std::snprintf(fraction.data(), fraction.size(), ".%02u",
                          static_cast<unsigned>(hundredths));
            text += fraction.data();
            if (text.back() == '0') text.pop_back();
        }
        return text + std::string(unit->suffix);
    }
    return std::to_string(bytes);
}

}  // namespace aliquot
