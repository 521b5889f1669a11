// SPDX-License-Identifier: Apache-2.0
#include "install/node_cleaning.h"

#include <algorithm>

#include "node/change.h"
#include "node/names.h"
#include "node/node_object.h"

namespace aliquot::install {
namespace {

/// What an agent has put on the node, by name.
std::vector<std::string> written_on(const node::NodeObject& node) {
    std::vector<std::string> words;
    for (const std::string& key : node::owned_names(node, node::kOwnedLabels)) {
        if (node.label(key)) words.push_back("label " + key);
    }
    if (node.annotations.contains(node::kAgent) && node.label(node::kMigStateLabel)) {
        words.push_back(std::string("label ") + node::kMigStateLabel);
    }
    const auto taints = node::owned_names(node, node::kOwnedTaints);
    for (const auto& present : node.taints) {
        const std::string slot = present.taint.key + ":" + present.taint.effect;
        if (std::ranges::find(taints, slot) != taints.end()) words.push_back("taint " + slot);
    }
    for (const char* const key : node::kAnnotations) {
        if (node.annotations.contains(key)) words.push_back(std::string("annotation ") + key);
    }
    for (const char* const type : node::kConditions) {
        if (node.find(type) != nullptr) words.push_back(std::string("condition ") + type);
    }
    return words;
}

}  // namespace

std::optional<NodeCleaning> clean_node(std::string_view node_json) {
    const auto node = node::read_node(node_json);
    if (!node) return std::nullopt;
    auto change = node::clear_node(*node);
    if (change.empty()) return std::nullopt;
    return NodeCleaning{.patch = std::move(change.merge),
                        .status_patch = std::move(change.status),
                        .removed = written_on(*node)};
}

}  // namespace aliquot::install
