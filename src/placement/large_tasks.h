// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "placement/node_table.h"
#include "placement/policy.h"

namespace aliquot::placement {

/// What it is worth to keep room for tasks of several whole GPUs. Nothing where nothing ever ends:
/// there, whoever comes first may as well have it. Not thread-safe; source: docs/internals/placement.md.
class LargeTasks {
public:
    explicit LargeTasks(const Weights& weights) : weights_(weights) {}

    /// Shares of the newest few thousand changes, in 2^-24.
    struct Recent {
        std::int32_t ended = 0;    // of all that came or went: those that went
        std::int32_t refused = 0;  // of the requests for a share or one GPU
    };
    [[nodiscard]] const Recent& recent() const { return recent_; }
    void set_recent(const Recent& recent) { recent_ = recent; }

    /// sign   1: such a task was placed; -1: it left
    void changed(const Shape& shape, int sign);
    void refused(const Shape& shape);

    /// Worth of one slot, in milli; 0 for shares and single GPUs.
    /// size      milli of one such task
    /// running   such tasks in a full cluster
    /// slots     that are free now
    [[nodiscard]] double price(const Shape& shape, double size, double running,
                               std::int64_t slots) const;

    /// Worth, in milli, of what a node with so many GPUs loses of its chance to get free by its
    /// first task, when its slots for large tasks are worth `slots` once it is empty.
    [[nodiscard]] double drained(double slots, unsigned devices) const;

    /// The same for one more task on a node that runs `live`: less with each.
    [[nodiscard]] static std::int64_t of_next(std::int64_t drained, std::uint32_t live);

private:
    Weights weights_;
    Recent recent_;
};

}  // namespace aliquot::placement
