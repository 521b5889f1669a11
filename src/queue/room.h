// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "placement/engine.h"
#include "placement/node_table.h"
#include "queue/queue.h"

namespace aliquot::queue {

using AskId = std::uint32_t;

/// What a job asks for, gang included: jobs that ask alike fit or do not fit alike.
struct Ask {
    placement::Request request;
    placement::Shape shape;
    std::uint32_t gang = 1;
    std::int64_t milli = 0;        // of all pods, for quotas and fair share
    std::vector<bool> admitted;    // per node, by labels and taints; empty: all
    std::uint64_t refused_at = 0;  // Room::freed() when it last did not fit
};

using Nodes = std::vector<placement::Node>;  // what is free, by node

/// Where the pods of one job are.
struct PodSpot {
    placement::NodeId node = placement::kNoNode;
    placement::Spot spot;
};

/// The devices: an engine that chooses places, and a copy of its books to look ahead with.
class Room {
public:
    explicit Room(placement::Options options) : engine_(options) {}

    Result<Done> add_geometry(placement::MigGeometry geometry);
    Result<placement::NodeId> add_node(placement::NodeSpec spec);

    /// errors: kInvalidInput
    Result<AskId> ask_of(const placement::Request& request, std::uint32_t gang);
    [[nodiscard]] const Ask& ask(AskId id) const { return asks_[id]; }
    [[nodiscard]] std::size_t asks() const { return asks_.size(); }
    /// The same in another size; not kept.
    [[nodiscard]] Ask like(const Ask& ask, std::uint32_t gang, unsigned gpus,
                           std::int32_t milli) const;

    /// Whether it is known not to fit, because nothing was freed since it did not.
    [[nodiscard]] bool is_refused(AskId id) const { return asks_[id].refused_at == freed_; }
    void refuse(AskId id) { asks_[id].refused_at = freed_; }
    [[nodiscard]] std::uint64_t freed() const { return freed_; }
    /// What was refused may fit now.
    void note_freed() { ++freed_; }

    [[nodiscard]] const Nodes& nodes() const { return nodes_; }
    /// How many pods of it fit on the node, at most `most`.
    [[nodiscard]] unsigned pods_on(const placement::Node& node, const Ask& ask,
                                   unsigned most) const;
    [[nodiscard]] bool may_use(const Ask& ask, placement::NodeId node) const {
        return ask.admitted.empty() || ask.admitted[node];
    }
    [[nodiscard]] bool fits(const Nodes& nodes, const Ask& ask) const;
    /// With nothing else on the nodes.
    [[nodiscard]] bool fits_empty(AskId id) const { return fits(empty_, asks_[id]); }
    /// The whole gang on these nodes, taken there; empty: it does not fit, and nothing changed.
    std::vector<PodSpot> take_on(Nodes& nodes, const Ask& ask) const;
    /// The first pod's best spot on a node; nullopt: none.
    [[nodiscard]] std::optional<placement::Spot> spot_on(const placement::Node& node,
                                                         const Ask& ask) const;

    /// Takes the places that the engine chooses; nothing changes where it finds none.
    Result<std::vector<placement::Placement>> place(AskId id);
    Result<std::vector<placement::Placement>> place_at(
        AskId id, const std::vector<placement::Placement>& where);
    /// What place() or place_at() took; note_freed() is the caller's.
    void release(AskId id, const std::vector<placement::Placement>& where);

    [[nodiscard]] const placement::Engine& engine() const { return engine_; }
    [[nodiscard]] placement::Engine& engine() { return engine_; }
    static placement::Spot spot_of(const placement::Placement& where);
    static placement::Placement placement_of(const PodSpot& where);
    /// Empty: the copy and the engine agree.
    [[nodiscard]] std::string self_check() const;

private:
    void describe(Ask& ask) const;

    placement::Engine engine_;
    placement::NodeTable table_;  // names, models and geometries; nothing is taken of it
    Nodes nodes_;
    Nodes empty_;  // as they came
    std::vector<Ask> asks_;
    std::unordered_map<std::string, AskId> known_;
    AskId latest_ = 0;
    std::uint64_t freed_ = 1;
    std::int32_t largest_mib_ = 0;  // of one GPU
};

}  // namespace aliquot::queue
