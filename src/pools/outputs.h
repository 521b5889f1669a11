// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "document/build.h"
#include "pools/pool.h"

namespace aliquot::pools {

/// What the engine of a pool reads, as objects for kubectl apply.
struct Outputs {
    std::vector<document::Value> objects;
    std::vector<std::string> remarks;  // what a person has to do besides
};

/// Karpenter: a NodePool for each capacity type, the first of the pool with the greatest weight; empty nodes go after
/// scaleDownDelay, and no node with pods is disrupted. Static: one NodePool with `nodes` replicas. Other engines, and
/// Karpenter's floor: placeholder pods, which hold a node each and give way to any other pod.
/// nodes   how many there should be now
Outputs outputs_of(const Pool& pool, unsigned nodes);

/// Karpenter's NodePools alone. One whose name is the pool's, with "-spot" or "-on-demand" where it has both.
std::vector<document::Value> node_pools(const Pool& pool, unsigned nodes);

/// A Deployment of `nodes` pods that each want all devices of a node, and their PriorityClass. Its priority is -10: the
/// lowest for which Cluster Autoscaler makes nodes, and below all that people use.
std::vector<document::Value> placeholders(const Pool& pool, unsigned nodes);

/// Tags of an Auto Scaling group from which Cluster Autoscaler knows what a node of it will have while it has none.
document::Value autoscaler_tags(const Pool& pool);

}  // namespace aliquot::pools
