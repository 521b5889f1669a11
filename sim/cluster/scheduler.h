// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/cluster/workload.h"

namespace aliquot::sim::cluster {

using k8s::Labels;

/// One extended resource of the node, as the scheduler and a person need to know it.
struct OfferedResource {
    unsigned allocatable = 0;  // healthy devices
    unsigned unhealthy = 0;
    unsigned used = 0;
    bool shared = false;               // its devices are shares of GPUs
    std::vector<std::string> holders;  // names of the pods that hold some, sorted
};

/// The one node.
struct NodeView {
    std::string name;
    Labels labels;
    std::map<std::string, OfferedResource> resources;
};

/// "accelerator=nvidia-a2", "zone in (a, b)", "!spot"
std::string to_text(const k8s::Requirement& rule);

/// What a pod needs of the node: over its containers the sum, over its init containers the most.
std::map<std::string, unsigned> devices_of(const PodTemplate& pod);

/// Why this pod cannot start now, in the scheduler's words followed by ours; empty: it can.
std::string why_pending(const PodTemplate& pod, const NodeView& node);

}  // namespace aliquot::sim::cluster
