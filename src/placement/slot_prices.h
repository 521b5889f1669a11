// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/large_tasks.h"
#include "placement/type_table.h"

namespace aliquot::placement {

/// What a slot of each type of the target workload is worth, in milli with kBits after the point:
/// rarer than the demand for it, dearer. source: docs/internals/placement.md
struct SlotPrices {
    static constexpr int kBits = 20;

    std::vector<std::int64_t> all;    // by type
    std::vector<std::int64_t> large;  // the part of it that is kept for tasks of several GPUs

    /// Whether the parts that are for everybody moved so much, all together, that all nodes have to be
    /// rated anew; the same number of types.
    [[nodiscard]] bool have_moved(const SlotPrices& fresh) const;
    /// Whether the part for large tasks did, of one type of tasks of `size` milli whose slots can be
    /// on this part of all nodes.
    [[nodiscard]] bool has_jumped(const SlotPrices& fresh, unsigned type, double size,
                                  double reach) const;
};

/// in_cluster  free slots of each type on all nodes
SlotPrices slot_prices(const TypeTable& table, const NodeTable& nodes, const LargeTasks& large,
                       const Weights& weights, std::span<const std::int64_t> in_cluster);

}  // namespace aliquot::placement
