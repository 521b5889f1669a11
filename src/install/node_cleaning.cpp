// SPDX-License-Identifier: Apache-2.0
#include "install/node_cleaning.h"

#include <algorithm>

#include "base/json_text.h"
#include "k8s/resource_name.h"
#include "kube_client/object.h"
#include "node/change.h"
#include "node/names.h"
#include "node/node_object.h"

namespace aliquot::install {
namespace {

/// What an agent has put on the node, by name.
std::vector<std::string> written_on(const k8s::Node& node) {
    std::vector<std::string> words;
    for (const std::string& key : node::owned_names(node, node::kOwnedLabels)) {
        if (node.label(key)) words.push_back("label " + key);
    }
    if (node.annotations.contains(node::kAgent) && node.label(node::kMigStateLabel)) {
        words.push_back(std::string("label ") + node::kMigStateLabel);
    }
    const auto taints = node::owned_names(node, node::kOwnedTaints);
    for (const auto& present : node.taints) {
        const std::string slot = present.key + ":" + present.effect;
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

std::vector<ListedResource> gpu_resources(std::string_view node_json) {
    const auto allocatable = kube_client::strings_at(node_json, "/status/allocatable");
    std::vector<ListedResource> listed;
    for (const auto& [name, amount] : kube_client::strings_at(node_json, "/status/capacity")) {
        if (!k8s::is_nvidia_gpu(name)) continue;
        const auto free = allocatable.find(name);
        listed.push_back(
            {.name = name,
             .empty = amount == "0" && (free == allocatable.end() || free->second == "0")});
    }
    return listed;
}

std::optional<NodeCleaning> clean_node(std::string_view node_json, AgentMark mark) {
    auto node = k8s::parse_node(node_json);
    if (!node) return std::nullopt;
    NodeCleaning cleaning;
    if (mark == AgentMark::kStays) node->annotations.erase(node::kAgent);  // not seen, not removed
    auto change = node::clear_node(*node);
    if (!change.empty()) cleaning.removed = written_on(*node);
    cleaning.patch = std::move(change.merge);
    cleaning.status_patch = std::move(change.status);
    std::string names;
    for (auto& one : gpu_resources(node_json)) {
        if (!one.empty) continue;
        names += (names.empty() ? "" : ",") + json_quoted(one.name) + ":null";
        cleaning.resources.push_back(std::move(one.name));
    }
    if (!names.empty())
        cleaning.resources_patch =
            R"({"status":{"capacity":{)" + names + R"(},"allocatable":{)" + names + "}}}";
    if (cleaning.patch.empty() && cleaning.status_patch.empty() && names.empty())
        return std::nullopt;
    return cleaning;
}

}  // namespace aliquot::install
