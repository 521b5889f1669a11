// SPDX-License-Identifier: Apache-2.0
#pragma once

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
};

/// Pure. Empty: the node has nothing of ours.
std::optional<NodeCleaning> clean_node(std::string_view node_json);

}  // namespace aliquot::install
