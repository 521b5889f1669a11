// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "admission/gpu_node.h"

namespace aliquot::admission {

using Nodes = std::vector<const GpuNode*>;

struct SeparationRules {
    bool always_by_product = false;  // also where nothing is to be kept away
    std::uint64_t memory_mib = 0;    // that a GPU must have; 0: does not matter
};

struct Separation {
    std::vector<Requirement> requirements;  // all of them hold for each node that is wanted
    Nodes left;                             // unwanted ones for which they hold, too
};

/// Few expressions over node labels that hold for all of `wanted` and for as few as can be of
/// `unwanted`: by the GPU's memory, its product, the number of replicas, at last by host name.
/// Needs one node of each kind only.
Separation separate(const Nodes& wanted, Nodes unwanted, const SeparationRules& rules);

/// By host name; without values where that cannot be said in 32 names.
Requirement away_from(const Nodes& nodes);

}  // namespace aliquot::admission
