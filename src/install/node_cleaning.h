// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::install {

/// What is taken off a Node: exactly what the agent's annotations say that it put there, these
/// annotations, and its conditions by name.
struct NodeCleaning {
    std::string patch;         // merge patch of the Node, with its resourceVersion; may be empty
    std::string status_patch;  // strategic merge patch of its status; may be empty
    std::vector<std::string>
        removed;  // "label nvidia.com/gpu.count", "taint nvidia.com/gpu:NoSchedule"
    /// Merge patch of its status: takes off GPU resources that it lists with 0. May be empty.
    std::string resources_patch;
    std::vector<std::string> resources;  // that it takes off
};

/// The annotation that says an agent ran there.
enum class AgentMark : std::uint8_t { kGoes, kStays };

/// Pure. Empty: the node has nothing of ours.
std::optional<NodeCleaning> clean_node(std::string_view node_json,
                                       AgentMark mark = AgentMark::kGoes);

struct ListedResource {
    std::string name;
    bool empty = false;  // 0 of it, in capacity and allocatable
};
/// The GPU resources that a Node lists, by name. Pure.
std::vector<ListedResource> gpu_resources(std::string_view node_json);

}  // namespace aliquot::install
