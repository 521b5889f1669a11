// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "placement/cluster.h"
#include "placement/placement.h"
#include "placement/policy.h"
#include "placement/request.h"
#include "placement/workload.h"

namespace aliquot::placement {

/// Placements made since mark() can be taken back to it, exactly.
struct Mark {
    std::size_t position = 0;
};

/// NodeTable of a cluster and the choice of the next place. Not thread-safe: one writer.
/// No device is ever promised more compute or memory than it has, whatever is called.
class Engine {
public:
    explicit Engine(Options options = {});
    ~Engine();
    Engine(Engine&&) noexcept;
    Engine& operator=(Engine&&) noexcept;

    /// Geometry of a MIG-capable model; before the first node of it in MIG mode.
    Result<Done> add_geometry(MigGeometry geometry);
    /// errors   kInvalidInput: more than kMostDevices, MIG without geometry, a rank or name twice
    Result<NodeId> add_node(NodeSpec spec);
    /// Which tasks to keep room for (fgd, aliquot). Empty: no room is kept for anything, and
    /// fragmentation is 0. Not undone by undo_to(), nor is add_node().
    void set_workload(std::vector<TaskType> types);

    /// The best place, taken. errors: kInvalidInput; kUnavailable: no node fits now (see refusal()).
    Result<Placement> place(const Request& request);
    /// All or none. errors: kInvalidInput: more than kMostGang; kUnavailable
    Result<std::vector<Placement>> place_gang(const Request& request, unsigned count);
    /// Takes a place chosen elsewhere (a restart, a replay). errors: kConflict when it does not fit.
    Result<PlacementId> restore(const Request& request, const Placement& where);
    /// errors: kNotFound
    Result<Done> release(PlacementId id);

    /// Moves a live placement; it keeps its id. errors: kNotFound; kConflict: it does not fit there.
    Result<Done> move(PlacementId id, const Placement& where);

    /// Moves them together: all leave, then all enter, or nothing changes; so two can change places.
    /// errors: kNotFound; kInvalidInput: one twice; kConflict: one does not fit
    Result<Done> rearrange(std::span<const Move> moves);

    /// What place() would answer; changes nothing.
    Result<Placement> what_if(const Request& request);
    /// The `count` best places of different nodes, best first, with their cost by terms.
    std::vector<Placement> alternatives(const Request& request, unsigned count);
    Refusal refusal(const Request& request) const;
    /// Per node: whether GPU model, labels and taints let the request on it.
    [[nodiscard]] std::vector<bool> admitted(const Request& request) const;
    /// Where a live placement would go if it had to leave its node; changes nothing.
    Result<Placement> elsewhere(PlacementId id);
    /// Live placements whose leaving alone would make room for the request on their node.
    std::vector<PlacementId> blockers(const Request& request) const;

    Mark mark();
    /// Undoes everything after the mark, latest first. After it state, scores and ids are as they were.
    void undo_to(Mark mark);
    /// Forgets marks: what was done stays. Call it when no mark is needed any more (bounds the undo log).
    void commit();

    [[nodiscard]] std::uint32_t node_count() const;
    [[nodiscard]] const NodeSpec& node(NodeId id) const;
    [[nodiscard]] NodeState state(NodeId id) const;
    [[nodiscard]] std::optional<Request> request_of(PlacementId id) const;      // nullopt: not live
    [[nodiscard]] std::optional<Placement> placement_of(PlacementId id) const;  // cost left out
    [[nodiscard]] std::vector<PlacementId> placements_on(NodeId id) const;      // ascending
    [[nodiscard]] std::size_t live() const;                                     // placements
    /// Placements that left a node so far: released or moved, and not undone.
    [[nodiscard]] std::uint64_t departures() const;
    [[nodiscard]] std::span<const TaskType> workload() const;
    [[nodiscard]] const Options& options() const;

    [[nodiscard]] std::int64_t capacity_milli() const;  // GPU compute of all nodes
    [[nodiscard]] std::int64_t free_milli() const;
    [[nodiscard]] std::int64_t free_cpu_beside_gpus() const;  // milli, of nodes with GPUs
    /// Free GPU compute that the target workload cannot use, in milli (the paper's F, exact).
    [[nodiscard]] double fragmented_milli() const;
    /// Bytes of all that grows with nodes and classes.
    [[nodiscard]] std::size_t memory_bytes() const;
    /// Compares every cached score with a computation from nothing, and the node table with the live
    /// placements. Empty: all agree; else what differs. For tests.
    [[nodiscard]] std::string self_check();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aliquot::placement
