// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "admission/gpu_request.h"

namespace aliquot::admission {

struct Assignment {
    std::size_t container = 0;  // of PodFacts::containers
    std::string resource;
    unsigned count = 1;
};

/// What becomes of the requests of a pod.
struct Choice {
    std::vector<Assignment> assignments;  // empty: nothing fits
    std::vector<Requirement> required;    // of node labels; also when nothing fits
    std::vector<Requirement> preferred;   // all together: where the least is wasted
    std::vector<std::string> warnings;
    std::string miss;  // why nothing fits, with what is nearest; empty: it does
};

/// For each request the resource whose unit is the smallest that is large enough, among nodes where the
/// pod may run and where all its requests can be had at once. A request without a size is for a whole
/// GPU, or for the largest share where there is none. A container that asks for a GPU resource by
/// itself keeps it; its request only says which nodes are good enough.
///
/// Pure. The work grows with the kinds of nodes; of each node only its kind is looked at, unless the
/// pod names nodes.
Choice choose(const PodFacts& pod, const std::vector<GpuRequest>& requests, const Cluster& cluster);

}  // namespace aliquot::admission
