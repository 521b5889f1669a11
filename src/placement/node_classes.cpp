// SPDX-License-Identifier: Apache-2.0
#include "placement/node_classes.h"

#include <algorithm>

namespace aliquot::placement {

unsigned NodeClass::slots(const Shape& shape) const {
    if (shape.gpus < 2 || shape.cpu > cpu) return 0;
    const unsigned by_gpus = devices / shape.gpus;
    return shape.cpu > 0 ? std::min(by_gpus, static_cast<unsigned>(cpu / shape.cpu)) : by_gpus;
}

bool NodeClass::can_have(const TypeTable& table, unsigned type) const {
    const auto& types = table.model_at(model).types;
    return slots(table.type(type).shape) > 0 && std::ranges::find(types, type) != types.end();
}

void NodeClasses::reset(const NodeTable& nodes) {
    all_.clear();
    of_node_.clear();
    nodes_.clear();
    for (NodeId id = 0; id < nodes.size(); ++id) {
        const NodeClass mine{.model = nodes.node(id).model,
                             .devices = nodes.node(id).devices,
                             .cpu = nodes.spec(id).cpu_milli};
        const auto same = std::ranges::find(all_, mine);
        of_node_.push_back(static_cast<std::uint32_t>(same - all_.begin()));
        if (same == all_.end()) {
            all_.push_back(mine);
            nodes_.emplace_back();
        }
        nodes_[of_node_.back()].push_back(id);
    }
}

std::vector<double> NodeClasses::reach_of(const TypeTable& table) const {
    std::vector<double> reach(table.count(), 0);
    for (unsigned type = 0; type < table.count(); ++type)
        for (std::size_t i = 0; i < all_.size(); ++i)
            if (all_[i].can_have(table, type))
                reach[type] +=
                    static_cast<double>(nodes_[i].size()) / static_cast<double>(of_node_.size());
    return reach;
}

}  // namespace aliquot::placement
