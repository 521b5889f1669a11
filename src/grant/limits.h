// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace aliquot::grant {

/// What one share of a device may use. An empty optional: no limit.
struct Limits {
    std::optional<std::uint64_t> memory_bytes;
    std::optional<unsigned> compute_percent;  // of the device's time, 1 to 100
    std::optional<unsigned> weight;           // share under contention, 1 to 10000

    /// Of memory or of compute; a weight takes nothing from a container that is alone.
    [[nodiscard]] bool are_firm() const { return memory_bytes || compute_percent; }
    [[nodiscard]] bool any() const { return are_firm() || weight; }
    friend bool operator==(const Limits&, const Limits&) = default;
};

/// The limits of a container that holds several shares of one device: memory and weight add up,
/// compute too and ends at 100 percent. Where one share has no limit, nor has the sum. Amounts
/// beyond the type stay at its end.
Limits sum(std::span<const Limits> shares);
/// That of `replicas` shares that are alike; 1 or more.
Limits times(const Limits& one, unsigned replicas);

}  // namespace aliquot::grant
