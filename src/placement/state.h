// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "placement/engine.h"
#include "placement/ranking.h"

namespace aliquot::placement {

/// A placement in the node table.
struct Live {
    ClassId kind = 0;
    NodeId node = kNoNode;
    Spot spot;
    bool movable = false;
    std::string anti_affinity;
};

/// One change, enough to take it back.
struct Change {
    enum class Kind : std::uint8_t {
        kPlaced,
        kReleased,
        kMoved,
        kRearranged,
        kArrived,
        kRefused
    } kind = Kind::kPlaced;
    PlacementId id = 0;
    Live before;                                         // of kReleased and kMoved
    std::uint32_t scorer = 0;                            // Scorer::save() before the change
    std::vector<std::pair<PlacementId, Live>> together;  // of kRearranged
    // Of kArrived and kRefused: what engine and scorer have not learned of yet.
    std::unique_ptr<Request> arrived;
};

struct Engine::State {
    explicit State(Options chosen);

    void lay_out();
    Result<ClassId> kind_of(const Request& request);
    [[nodiscard]] std::vector<NodeId> excluded_by(const std::string& anti_affinity) const;
    void enter(PlacementId id, Live live);
    Live leave(PlacementId id);
    void move_resources(const Live& live, int sign);
    Result<Placement> choose(const Request& request, ClassId kind,
                             const std::vector<NodeId>& excluded);
    Result<Placement> place(const Request& request);
    [[nodiscard]] Placement described(PlacementId id, const Live& live) const;
    Result<Live> live_of(const Request& request, const Placement& where);
    /// Remembers a change that is about to be made, while a mark is set.
    void note_placed(PlacementId id);
    void note_gone(Change::Kind kind, PlacementId id, const Live& before, std::uint32_t saved);
    void undo(Change change);
    /// Those that left together are where they were; their kinds were held.
    void undo_leaving(Change change);
    void learn(const Request& request);
    void note_refused(const Request& request);
    [[nodiscard]] Error no_room(const Request& request) const;

    Options options;
    NodeTable node_table;
    std::unique_ptr<Scorer> scorer;
    Ranking ranking;
    std::vector<TaskType> types;
    ArrivalHistory history;
    std::unordered_map<PlacementId, Live> live;
    std::vector<std::vector<PlacementId>> on_node;
    std::unordered_map<std::string, std::unordered_map<NodeId, std::uint32_t>> keep_apart;
    std::unordered_set<std::uint32_t> ranks;
    PlacementId next_id = 1;
    std::uint64_t departures = 0;
    bool laid_out = false;
    bool recording = false;  // between mark() and commit()
    std::vector<Change> changes;
};

}  // namespace aliquot::placement
