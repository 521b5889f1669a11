// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "admission/gpu_request.h"
#include "admission/separation.h"

namespace aliquot::admission {

/// A request on its way to a resource.
struct Demand {
    const GpuRequest* request = nullptr;
    std::string resource{};  // empty: any
    unsigned count = 1;
    bool is_named = false;    // the container asks for `resource` itself
    bool only_whole = false;  // shares will not do

    /// The type of the node's GPUs.
    [[nodiscard]] bool allows(const GpuNode& node) const;
    [[nodiscard]] bool fits(const Share& share) const;
};

/// Why none of `candidates` (nodes where the pod may run) can serve all demands, and what comes
/// nearest. One line.
std::string describe_miss(const PodFacts& pod, const std::vector<Demand>& demands,
                          const Nodes& candidates, const Cluster& cluster);

}  // namespace aliquot::admission
