// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "placement/engine.h"
#include "placement/move_search.h"

namespace aliquot::placement {

struct MigrationLimits {
    std::uint32_t most_moves = 0;          // over the life of the planner
    std::int32_t least_gain = 150;         // milli GPU that one move must win to be worth it
    std::uint32_t most_trials = 24;        // places looked at closely for one request
    std::int32_t least_share = 80;         // milli GPU that a chain must win for each of its moves
    std::uint64_t most_steps = 4'000'000;  // of the search, for one make_room()
};

/// What make_room() did.
struct Room {
    struct Placed {
        std::size_t waiting = 0;  // index
        Placement placement;
    };
    std::vector<Placed> placed;
    std::uint32_t moves = 0;
    std::uint64_t steps = 0;  // of the search
};

/// Moves few tasks to make room where none is. Each task is moved at most once, and only if its
/// request says movable. Borrows the engine; marks of the caller must not be open.
class Migration {
public:
    Migration(Engine& engine, MigrationLimits limits) : engine_(engine), limits_(limits) {}

    /// place(), and where that is refused: one move that makes room, if one is left and worth it.
    Result<Placement> place(const Request& request);

    /// Makes room for requests that were refused and still wait: chains of moves after which some of them fit,
    /// those that win most for each move first. What fits without a move is placed first.
    /// waiting  in the order in which they may be placed among equals; gangs are not for here
    /// errors   kInvalidInput: a request is wrong
    Result<Room> make_room(std::span<const Waiting> waiting);

    /// Up to `most_moves` moves that make fragmented GPUs usable again, best first; the engine is left as it was.
    std::vector<Move> plan(std::uint32_t most_moves);
    /// All moves of a plan, or none.
    Result<Done> apply(const std::vector<Move>& moves);

    [[nodiscard]] std::uint32_t moved() const {
        return static_cast<std::uint32_t>(touched_.size());
    }
    /// GPU compute placed only thanks to moves, in milli.
    [[nodiscard]] std::int64_t gained_milli() const { return gained_; }

private:
    struct Candidate {
        PlacementId id = 0;
        NodeId node = kNoNode;
        std::int64_t size = 0;  // of the task to move: small ones are easier to take in elsewhere
    };
    struct Trial {
        Candidate candidate;
        Placement to;
        std::int64_t cost = 0;
    };

    [[nodiscard]] bool may_move(PlacementId id) const;
    /// Whether it was tried of late, and nothing has left a node since.
    [[nodiscard]] bool is_hopeless(const std::string& kind) const;
    [[nodiscard]] std::vector<Candidate> candidates(const Request& request) const;
    Result<Done> place_what_fits(std::span<const Waiting> waiting, std::vector<std::uint32_t>& left,
                                 Room& room);
    Result<Done> make(const Exchange& exchange, std::span<const Waiting> waiting, Room& room);
    std::optional<Trial> tried(const Candidate& candidate, const Request& request);

    Engine& engine_;
    MigrationLimits limits_;
    std::unordered_set<PlacementId> touched_;
    std::int64_t gained_ = 0;
    /// Requests for which no move helped: (departures, live placements) when it was tried.
    std::unordered_map<std::string, std::pair<std::uint64_t, std::size_t>> hopeless_;
};

}  // namespace aliquot::placement
