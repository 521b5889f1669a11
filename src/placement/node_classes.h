// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "placement/node_table.h"
#include "placement/type_table.h"

namespace aliquot::placement {

/// Nodes that are alike once they are empty.
struct NodeClass {
    std::size_t model = 0;
    unsigned devices = 0;
    std::int32_t cpu = 0;  // milli
    friend bool operator==(const NodeClass&, const NodeClass&) = default;

    /// How many tasks of several whole GPUs fit on such a node while it is empty; 0 for other tasks.
    [[nodiscard]] unsigned slots(const Shape& shape) const;
    /// Whether such a node can have a slot for this type of large tasks.
    [[nodiscard]] bool can_have(const TypeTable& table, unsigned type) const;
};

/// The classes of a cluster's nodes, which must not change meanwhile. Not thread-safe.
class NodeClasses {
public:
    void reset(const NodeTable& nodes);
    [[nodiscard]] const std::vector<NodeClass>& all() const { return all_; }
    [[nodiscard]] std::size_t index_of(NodeId id) const { return of_node_[id]; }
    [[nodiscard]] const std::vector<NodeId>& nodes_of(std::size_t index) const {
        return nodes_[index];
    }
    /// By type of large tasks: the part of all nodes that can have a slot for it.
    [[nodiscard]] std::vector<double> reach_of(const TypeTable& table) const;

private:
    std::vector<NodeClass> all_;
    std::vector<std::uint32_t> of_node_;
    std::vector<std::vector<NodeId>> nodes_;  // by class
};

}  // namespace aliquot::placement
