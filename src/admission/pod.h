// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "admission/gpu_node.h"
#include "base/result.h"
#include "k8s/node_selector.h"

namespace aliquot::admission {

struct ContainerFacts {
    std::string name;
    bool init = false;
    std::size_t index = 0;  // in spec.containers or spec.initContainers
    /// GPU resources that it asks for by itself, of limits, else requests: name -> amount.
    std::map<std::string, std::uint64_t> gpu_resources;
    std::uint64_t memory_limit_bytes = 0;  // 0: none, or not readable
};

/// What counts of a pod here.
struct PodFacts {
    Labels annotations;
    Labels labels;
    std::vector<ContainerFacts> containers;  // spec.containers, then spec.initContainers
    k8s::NodeSelector where;
};

/// cluster   tells which resources are of GPUs, beside those of nvidia.com/
/// errors    kInvalidInput: no Pod, or one without containers
Result<PodFacts> read_pod(const nlohmann::json& pod, const Cluster& cluster);

}  // namespace aliquot::admission
