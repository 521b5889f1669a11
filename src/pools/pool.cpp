// SPDX-License-Identifier: Apache-2.0
#include "pools/pool.h"

#include <algorithm>

#include "catalog/gpu_instances.h"
#include "k8s/resource_name.h"

namespace aliquot::pools {

std::string_view to_text(Engine engine) {
    switch (engine) {
        case Engine::kKarpenter:
            return "karpenter";
        case Engine::kKarpenterStatic:
            return "karpenter-static";
        case Engine::kClusterAutoscaler:
            return "cluster-autoscaler";
        case Engine::kExternal:
            return "external";
        case Engine::kPlaceholder:
            return "placeholder";
    }
    return "";
}

std::string_view to_text(CapacityType type) {
    return type == CapacityType::kSpot ? "spot" : "on-demand";
}

std::string_view to_text(Gate gate) {
    switch (gate) {
        case Gate::kDriver:
            return "driver";
        case Gate::kDevicePlugin:
            return "device-plugin";
        case Gate::kToolkit:
            return "toolkit";
    }
    return "";
}

unsigned Pool::gpus_per_node() const {
    unsigned most = 0;
    for (const std::string& type : instances) {
        const auto* const instance = catalog::find_gpu_instance(type);
        if (instance != nullptr) most = std::max(most, instance->gpu_count);
    }
    if (most != 0) return most;
    for (const auto& [resource, amount] : node.amounts) {
        if (resource == "nvidia.com/gpu") {
            most = std::max(most, static_cast<unsigned>(k8s::whole(amount)));
        }
    }
    return most;
}

unsigned Pool::most_nodes() const {
    const unsigned each = gpus_per_node();
    if (!most_gpus || each == 0) return max;
    return std::min(max, *most_gpus / each);
}

}  // namespace aliquot::pools
