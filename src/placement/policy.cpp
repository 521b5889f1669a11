// SPDX-License-Identifier: Apache-2.0
#include "placement/policy.h"

#include <algorithm>
#include <array>

namespace aliquot::placement {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 8> kWords{"aliquot", "fgd",        "best-fit", "dot-product",
                                                 "packing", "clustering", "random",   "spread"};

}  // namespace

std::string_view to_text(Policy policy) { return kWords.at(static_cast<std::size_t>(policy)); }

std::optional<Policy> parse_policy(std::string_view word) {
    const auto* found = std::find(kWords.begin(), kWords.end(), word);
    if (found == kWords.end()) return std::nullopt;
    return static_cast<Policy>(found - kWords.begin());
}

std::span<const std::string_view> policy_words() { return kWords; }

Weights default_weights() {
    return {.fragmentation = 0.75,
            .packing = 0.5,
            .scarcity = 1.0,
            .scarcity_most = 4.0,
            .size = -2.0,
            .waste = 1.25,
            .whole = 1.0,
            .whole_reserve = 0.7,
            .whole_power = 3.0,
            .drain = 0.5,
            .order = 160,
            .price = 20,
            .power = 0.25};
}

}  // namespace aliquot::placement
