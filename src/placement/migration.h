// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "placement/engine.h"

namespace aliquot::placement {

struct Move {
    PlacementId id = 0;
    NodeId from = kNoNode;
    Placement to;
};

struct MigrationLimits {
    std::uint32_t most_moves = 0;   // over the life of the planner
    std::int32_t least_gain = 500;  // milli GPU that one move must win to be worth it
};

/// Moves few tasks to make room where none is. Each task is moved at most once, and only if its
/// request says movable.
class Migration {
public:
    Migration(Engine& engine, MigrationLimits limits) : engine_(engine), limits_(limits) {}

    /// place(), and where that is refused: one move that makes room, if one is left and worth it.
    Result<Placement> place(const Request& request);

    /// Moves that make fragmented GPUs usable again, best first; nothing is changed.
    std::vector<Move> plan(std::uint32_t most_moves);
    /// All moves of a plan, or none.
    Result<Done> apply(const std::vector<Move>& moves);

    [[nodiscard]] std::uint32_t moved() const { return moved_; }
    /// GPU compute placed only thanks to moves, in milli.
    [[nodiscard]] std::int64_t gained_milli() const { return gained_; }

private:
    Engine& engine_;
    MigrationLimits limits_;
    std::unordered_set<PlacementId> touched_;
    std::uint32_t moved_ = 0;
    std::int64_t gained_ = 0;
};

}  // namespace aliquot::placement
