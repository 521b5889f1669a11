// SPDX-License-Identifier: Apache-2.0
#include "sim/mps/amount.h"

#include "base/number.h"

namespace aliquot::sim::mps {
namespace {

constexpr std::uint64_t kKibi = 1024;

}  // namespace

std::optional<std::uint64_t> parse_amount(std::string_view text) {
    std::uint64_t unit = 1;
    if (text.ends_with('B')) text.remove_suffix(1);
    if (text.ends_with('K')) unit = kKibi;
    if (text.ends_with('M')) unit = kKibi * kKibi;
    if (text.ends_with('G')) unit = kKibi * kKibi * kKibi;
    if (unit != 1) text.remove_suffix(1);
    const auto number = parse_number<std::uint64_t>(text);
    constexpr std::uint64_t kMost = std::uint64_t{1} << 50U;
    if (!number || *number == 0 || *number > kMost / unit) return std::nullopt;
    return *number * unit;
}

std::string amount_text(std::uint64_t bytes) {
    if (bytes % (kKibi * kKibi * kKibi) == 0) return std::to_string(bytes >> 30U) + "G";
    if (bytes % (kKibi * kKibi) == 0) return std::to_string(bytes >> 20U) + "M";
    if (bytes % kKibi == 0) return std::to_string(bytes >> 10U) + "K";
    return std::to_string(bytes);
}

}  // namespace aliquot::sim::mps
