// SPDX-License-Identifier: Apache-2.0
#include "telemetry/split.h"

#include <algorithm>
#include <numeric>

namespace aliquot::telemetry {

std::vector<std::uint64_t> divide(std::uint64_t total, std::span<const std::uint64_t> weights,
                                  std::uint64_t all) {
    const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
    all = std::max(all, sum);
    std::vector<std::uint64_t> parts(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) parts[i] = scaled(total, weights[i], all);
    return parts;
}

}  // namespace aliquot::telemetry
