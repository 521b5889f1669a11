// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "document/build.h"
#include "pools/pool.h"

namespace aliquot::pools {

/// What the engine of a pool reads, as objects for kubectl apply.
struct Outputs {
    std::vector<document::Value> objects;
    std::vector<std::string> remarks;  // what a person has to do besides
};

/// How many there should be now.
struct Numbers {
    unsigned nodes = 0;         // of a static NodePool
    unsigned placeholders = 0;  // see Desired
    /// A hold: no more than these.
    std::optional<unsigned> most{};
    unsigned spot_nodes = 0;       // that there are
    unsigned on_demand_nodes = 0;  // and of the other kind
    bool first_gave_up = false;    // a pod waits longer than spotPatience
};

/// Karpenter: see node_pools(). Static: one NodePool with replicas. Other engines, and Karpenter's floor: placeholder
/// pods, which hold a node each and give way to any other pod.
Outputs outputs_of(const Pool& pool, const Numbers& numbers);

/// Karpenter's NodePools alone. Spot before on-demand is one of both kinds: Karpenter tries spot first and turns to the
/// other when there is none. On-demand before spot are two, "-on-demand" with the greater weight and "-spot", whose limits
/// leave the second nothing until a pod has waited for spotPatience: together they never have more than max. Empty nodes go
/// after scaleDownDelay; no node with pods is disrupted. A pool of shares has a NodeOverlay, which tells Karpenter of them.
std::vector<document::Value> node_pools(const Pool& pool, const Numbers& numbers);

/// A Deployment of pods that each want all devices of a node, and their PriorityClass. Its priority is -10: the lowest
/// for which Cluster Autoscaler makes nodes, and below all that people use.
std::vector<document::Value> placeholders(const Pool& pool, unsigned pods);

/// Tags of an Auto Scaling group from which Cluster Autoscaler knows what a node of it will have while it has none.
document::Value autoscaler_tags(const Pool& pool);

}  // namespace aliquot::pools
