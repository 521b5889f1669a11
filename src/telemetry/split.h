// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace aliquot::telemetry {

/// a * b / c without overflow, rounded down; 0 when c is 0.
constexpr std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    if (c == 0) return 0;
    // NOLINTNEXTLINE(google-runtime-int): 128 bits have no other name
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(a) * b / c);
}

/// Divides `total` in proportion to `weights`, rounded down each: what is left over is nobody's.
/// Weights that add up to more than `all` are taken to be all there is.
std::vector<std::uint64_t> divide(std::uint64_t total, std::span<const std::uint64_t> weights,
                                  std::uint64_t all);

}  // namespace aliquot::telemetry
