// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "page/table.h"
#include "telemetry/snapshot.h"
#include "telemetry/split.h"
#include "top/cluster_snapshot.h"

namespace aliquot::page {

/// "shares", "parts" and "details" of some nodes.
std::vector<Table> share_tables(const top::ClusterSnapshot& cluster,
                                const std::vector<std::string>& nodes);

// The page's units.

inline std::optional<std::uint64_t> watts(std::optional<std::uint64_t> milliwatts) {
    constexpr std::uint64_t kMilliwattsPerWatt = 1'000;
    if (!milliwatts) return std::nullopt;
    return *milliwatts / kMilliwattsPerWatt;
}

inline std::optional<std::uint64_t> mebibytes(std::optional<std::uint64_t> bytes) {
    constexpr unsigned kShift = 20;
    if (!bytes) return std::nullopt;
    return *bytes >> kShift;
}

inline std::optional<std::uint64_t> percent(std::optional<std::uint64_t> ppm) {
    constexpr std::uint64_t kHundred = 100;
    if (!ppm) return std::nullopt;
    return telemetry::scaled(*ppm, kHundred, telemetry::kMillion);
}

}  // namespace aliquot::page
