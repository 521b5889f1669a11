// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "placement/key_tree.h"
#include "placement/node_table.h"
#include "placement/placement.h"

namespace aliquot::placement {

/// One policy: how good a node is for a shape, and which of its devices. Larger keys are better;
/// among equal keys the node that is first in rank order wins.
class Scorer {
public:
    using Key = KeyTree::Key;

    Scorer() = default;
    Scorer(const Scorer&) = delete;
    Scorer& operator=(const Scorer&) = delete;
    virtual ~Scorer() = default;

    /// The target workload, or a new set of nodes: forget everything derived.
    virtual void reset(const NodeTable& node_table, std::span<const TaskType> types);
    /// The node must fit the shape.
    virtual Key key(const Node& node, NodeId id, const Shape& shape) = 0;
    /// The node is soon to be asked about.
    virtual void ask_for(NodeId /*id*/) const {}
    /// Where on that node; the node must fit the shape.
    virtual Spot spot(const Node& node, NodeId id, const Shape& shape);
    virtual Breakdown breakdown(const Node& node, NodeId id, const Shape& shape);
    /// Called before and after the node table changes one node.
    virtual void leaving(const Node& node, const Shape& shape, int sign, NodeId id);
    virtual void entered(const Node& node, NodeId id);
    /// A request that fits nowhere was refused.
    virtual void refused(const Shape& shape);
    /// Grows whenever all keys have to be computed again.
    [[nodiscard]] virtual std::uint32_t epoch() const { return 0; }
    /// Nodes whose keys the latest change has made old beside its own.
    [[nodiscard]] virtual std::span<const NodeId> repriced() const { return {}; }
    /// Global state beside the node table, for undo.
    virtual std::uint32_t save() { return 0; }
    virtual void restore(std::uint32_t /*saved*/) {}
    virtual void forget_saved() {}
    [[nodiscard]] virtual std::size_t bytes() const { return 0; }
};

std::unique_ptr<Scorer> make_own_scorer(const Weights& weights);

/// The tightest device for a share (lowest index among equals), the lowest whole ones, the MIG device
/// with the least room. The node must fit the shape.
Spot tightest_spot(const Node& node, const Shape& shape);
/// The lowest fitting devices for whole GPUs.
Spot lowest_spot(const Node& node, const Shape& shape);
/// Whole GPUs out of as few link groups as possible, small remainders first. `node` is of `node_table`;
/// of a copy the lowest ones.
Spot linked_spot(const NodeTable& node_table, const Node& node, const Shape& shape);

/// Values of node states, direct-mapped and bounded: a miss is computed again, never wrong.
class StateMemo {
public:
    explicit StateMemo(unsigned bits = 16) { resize(bits); }
    void resize(unsigned bits) {
        slots_.assign(std::size_t{1} << bits, Slot{});
        shift_ = 64 - bits;
    }
    void clear() { slots_.assign(slots_.size(), Slot{}); }
    struct Slot {
        std::uint64_t state = 0;
        union {
            double real;
            std::int64_t integer = 0;
        };
    };
    Slot& slot(std::uint64_t state) { return slots_[(state * 0x9E3779B97F4A7C15ULL) >> shift_]; }
    [[nodiscard]] std::size_t bytes() const { return slots_.size() * sizeof(Slot); }

private:
    std::vector<Slot> slots_;
    unsigned shift_ = 48;
};

/// A number for (devices, CPU, model): equal states, equal numbers; never 0.
std::uint64_t state_number(std::uint64_t device_sum, std::int32_t cpu, const Node& node);

/// Memo size for a cluster: 2^16 states for a small one, 2^20 for a large one.
unsigned memo_bits(std::size_t nodes);

}  // namespace aliquot::placement
