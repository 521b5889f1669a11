// SPDX-License-Identifier: Apache-2.0
#include "placement/slot_prices.h"

#include <algorithm>
#include <cmath>

namespace aliquot::placement {
namespace {

constexpr double kLetBe = 1.0 / 20;    // prices that moved less, all together, stay as they are
constexpr double kLetLarge = 1.0 / 3;  // of its size: one for large tasks that moved less stays
constexpr double kMostPrice = 1e6;     // milli: keeps sums of strange weights within 64 bits

std::int64_t rounded(double price) {
    return std::llround(std::clamp(price, -kMostPrice, kMostPrice) * (1 << SlotPrices::kBits));
}

}  // namespace

bool SlotPrices::have_moved(const SlotPrices& fresh) const {
    std::int64_t moved = 0;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::int64_t was = all[i] - large[i];
        moved += std::abs(fresh.all[i] - fresh.large[i] - was);
        sum += was;
    }
    return static_cast<double>(moved) > kLetBe * static_cast<double>(sum);
}

bool SlotPrices::has_jumped(const SlotPrices& fresh, unsigned type, double size,
                            double reach) const {
    const auto jump = static_cast<double>(std::abs(fresh.large[type] - large[type]));
    return jump > std::min(reach, kLetLarge) * size * (1 << kBits);
}

SlotPrices slot_prices(const TypeTable& table, const NodeTable& nodes, const LargeTasks& large,
                       const Weights& weights, std::span<const std::int64_t> in_cluster) {
    SlotPrices prices{.all = std::vector<std::int64_t>(table.count(), 0),
                      .large = std::vector<std::int64_t>(table.count(), 0)};
    const int scarcity = static_cast<int>(std::lround(weights.scarcity * 4));
    const double tasks =
        table.mean_demand() > 0 ? static_cast<double>(nodes.free_milli()) / table.mean_demand() : 0;
    for (unsigned i = 0; i < table.count(); ++i) {
        const TypeTable::Type& type = table.type(i);
        if (type.shape.gpus == 0) continue;
        const double supply = static_cast<double>(in_cluster[i]) * type.size;
        const double demand = tasks * type.nested_demand;
        const double rarity =
            supply > 0 ? std::min(power_of(demand / supply, scarcity), weights.scarcity_most)
                       : weights.scarcity_most;
        const double each =
            type.nested > 0 ? weights.packing / type.nested * rarity * type.weight * type.size : 0;
        const double running = (type.popularity + type.seldom) *
                               static_cast<double>(nodes.capacity_milli()) /
                               std::max(table.mean_demand(), 1.0);
        prices.large[i] = rounded(large.price(type.shape, type.size, running, in_cluster[i]));
        prices.all[i] = rounded(each) + prices.large[i];
    }
    return prices;
}

}  // namespace aliquot::placement
