// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "placement/key_tree.h"
#include "placement/node_table.h"
#include "placement/scorer.h"

namespace aliquot::placement {

using ClassId = std::uint32_t;

/// All nodes in order of preference, for every kind of request met so far. Keys are computed once and
/// again only for nodes that changed since they were last asked for.
///
/// Kinds that differ in memory alone share one order: no score looks at memory, so it is checked when
/// a node is picked. Work per call is bounded: in a cluster of more than kScan nodes a new order is
/// made a part at a time, and the best of what is ranked so far wins. In a smaller one every answer is
/// exact.
class Ranking {
public:
    Ranking(NodeTable& node_table, Scorer& scorer) : node_table_(node_table), scorer_(scorer) {}

    static constexpr std::size_t kScan = 16'384;  // nodes up to which every answer is exact
    static constexpr std::size_t kPart =
        4'096;  // of a larger cluster, keys computed for one answer
    static constexpr std::size_t kMostClasses =
        4'096;  // kinds without placements kept, and orders kept

    /// The kind of a request (anti-affinity and movability play no part).
    ClassId class_of(const Request& request);
    [[nodiscard]] const Request& request_of(ClassId id) const { return kinds_[id]->request; }
    [[nodiscard]] const Shape& shape_of(ClassId id) const { return kinds_[id]->shape; }
    /// A kind that is held is not forgotten.
    void hold(ClassId id) { ++kinds_[id]->held; }
    void drop(ClassId id) { --kinds_[id]->held; }

    /// Whether labels and taints let the kind on this node.
    [[nodiscard]] bool admits(ClassId id, NodeId node) const;
    /// Best node first; at most `count`; none of `excluded`.
    std::vector<NodeId> best(ClassId id, unsigned count, std::span<const NodeId> excluded);
    /// The node_table of this node have changed.
    void changed(NodeId node);
    /// Nodes, order or scores are new: forget all keys.
    void forget();
    /// Brings some other order up to date, a bounded step.
    void work_ahead();

    [[nodiscard]] std::size_t bytes() const;
    /// First key that differs from a computation from nothing, in words; empty: none.
    [[nodiscard]] std::string self_check();

private:
    struct Less {
        bool operator()(const Request& a, const Request& b) const;
    };
    /// One order of all nodes.
    struct Order {
        Request request;  // without memory
        Shape shape;
        std::vector<std::uint64_t> admitted;  // bit per position
        KeyTree keys;
        std::uint64_t cursor = 0;  // changes up to here are in the keys
        std::size_t scanned = 0;   // positions that have a key of this epoch
        // Changes up to here are in those keys of former epochs, too, that say whether it fits.
        std::uint64_t fits_until = 0;
        std::uint32_t epoch = 0;
        bool cold = true;
        std::uint64_t used = 0;
    };
    struct Kind {
        Request request;
        Shape shape;
        Order* order = nullptr;  // once asked for
        std::uint32_t held = 0;
        std::uint64_t used = 0;
    };
    using Hidden = std::vector<std::pair<std::size_t, KeyTree::Key>>;

    [[nodiscard]] std::size_t most_logged() const;  // changes kept
    Order& order_of(Kind& kind);
    void forget_an_order();
    void forget_a_kind();
    void admit_all(Order& order) const;
    void rate(Order& order, NodeId node);
    void start_over(Order& order) const;
    void scan(Order& order, std::size_t most);
    void catch_up(Order& order, std::size_t most);
    void prepare(Order& order);
    /// The best position whose node has the memory; those passed over are hidden. npos: none.
    std::size_t pick(Order& order, const Shape& shape, Hidden& hidden);
    std::size_t pick_by_scan(const Order& order, const Shape& shape) const;

    NodeTable& node_table_;
    Scorer& scorer_;
    std::map<Request, ClassId, Less> known_;
    std::vector<std::unique_ptr<Kind>> kinds_;
    std::vector<ClassId> unused_;  // ids of kinds to give out again
    std::map<Request, std::unique_ptr<Order>, Less> orders_;
    std::vector<Order*> order_list_;
    std::vector<NodeId> at_position_;
    std::vector<std::uint64_t> last_change_;  // per node: number of its latest change
    std::vector<NodeId> log_;                 // changed nodes; log_[0] is change number log_base_
    std::uint64_t log_base_ = 1;
    std::uint64_t uses_ = 0;
    std::size_t next_ahead_ = 0;
};

}  // namespace aliquot::placement
