// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "placement/cluster.h"
#include "placement/policy.h"
#include "placement/workload.h"

namespace aliquot::placement {

class Scorer;

using PlacementId = std::uint64_t;  // 1, 2, 3, ... in the order of successful places

/// Terms of one decision's cost, in milli GPU; lower is better. Zero for the published policies except `total`.
struct Breakdown {
    std::int64_t fragmentation = 0;
    std::int64_t packing = 0;  // with scarcity
    std::int64_t waste = 0;
    std::int64_t order = 0;
    std::int64_t price = 0;
    std::int64_t power = 0;
    std::int64_t total = 0;  // published policies: minus their score
};

struct Placement {
    PlacementId id = 0;  // 0: only considered
    NodeId node = kNoNode;
    std::vector<std::uint8_t>
        devices;                 // ascending; one for a share or a MIG instance; none without GPU
    std::uint8_t mig_start = 0;  // first memory slice of the MIG instance
    Breakdown cost;
};

/// A live placement and where it goes.
struct Move {
    PlacementId id = 0;
    NodeId from = kNoNode;
    Placement to;
    double gained_milli = 0;  // GPU compute that this move alone makes usable again
};

/// Why no node takes a request: how many nodes fail at which test first, and the node that came nearest.
struct Refusal {
    std::uint32_t nodes = 0;
    std::uint32_t model = 0;   // other GPU model, or no GPU
    std::uint32_t labels = 0;  // selector or taint
    std::uint32_t affinity = 0;
    std::uint32_t gpu = 0;  // no device (or not enough of them) with so much free
    std::uint32_t cpu = 0;
    std::uint32_t memory = 0;
    NodeId nearest = kNoNode;
    std::string nearest_miss;  // "node-7: needs 8000 more milli CPU"
};

/// Makes the scorer of a policy that is not ours; sim/trace has them.
using ScorerOf = std::unique_ptr<Scorer> (*)(Policy policy, std::uint64_t seed);

struct Options {
    Policy policy = Policy::kAliquot;
    ScorerOf published = nullptr;  // not null where `policy` is not kAliquot
    Weights weights = default_weights();
    std::uint64_t seed = 1;  // of Policy::kRandom alone
    bool learn = false;      // take the target workload from what arrives, not from set_workload()
    std::uint32_t learn_every = 1024;  // arrivals between two looks at the history
};

}  // namespace aliquot::placement
