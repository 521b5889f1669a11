// SPDX-License-Identifier: Apache-2.0
#include "doctor/nodes.h"

#include "doctor/check.h"
#include "doctor/text.h"

namespace aliquot::doctor {

std::vector<const Object*> nodes_of(const Facts& facts) {
    std::vector<const Object*> nodes;
    for (const Object& node : facts.cluster.all("Node")) {
        if (facts.target.kind == Target::Kind::kNode && node.name != facts.target.name) continue;
        nodes.push_back(&node);
    }
    return nodes;
}

std::vector<std::string> gpu_resources(const Object& node) {
    std::vector<std::string> names;
    for (const Node::Entry& entry : entries_at(node.body, {"status", "capacity"})) {
        if (is_gpu_resource(entry.first.scalar)) names.push_back(entry.first.scalar);
    }
    return names;
}

std::string label(const Object& node, std::string_view name) {
    const auto labels = labels_of(node);
    const auto found = labels.find(std::string(name));
    return found == labels.end() ? "" : found->second;
}

Verdict no_nodes() { return unknown("nodes were not read"); }

}  // namespace aliquot::doctor
