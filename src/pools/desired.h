// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pools/demand.h"
#include "pools/pool.h"

namespace aliquot::pools {

/// How many nodes a pool should have, and why.
struct Desired {
    unsigned nodes = 0;
    unsigned by_schedule = 0;
    unsigned by_hand = 0;
    unsigned by_queue = 0;   // nodes with pods, and those that waiting pods need
    unsigned by_warm = 0;    // nodes with pods and the idle ones that are kept
    unsigned cooling = 0;    // nodes that are empty for less than the delay
    unsigned present = 0;    // nodes that exist and stay
    unsigned starting = 0;   // of them
    unsigned failed = 0;     // nodes that did not pass their gates in time
    unsigned busy = 0;       // nodes with pods
    unsigned sick = 0;       // empty nodes that no job may go to
    unsigned replacing = 0;  // nodes with pods that will go: each has a node in its stead
    /// Pods that hold a node for schedule, hand, warm nodes and what autoscalers do not see.
    unsigned placeholders = 0;
    bool is_held = false;              // by spec.hold
    unsigned ask = 0;                  // more nodes to be made: nodes - present, never less than 0
    std::vector<std::string> remove;   // empty nodes that may go, the longest empty first
    std::vector<std::string> reasons;  // sentences, the one that decides first
    std::vector<std::string> too_large;
    std::vector<std::string> served;  // waiting pods that have or get room
};

/// desired = clamp(max(schedule, by hand, queue, warm, cooling), min, max); a hold stands above all but min and
/// max. max is also what gpuLimit allows. A node that starts is counted and never asked for twice; one that has
/// not passed its gates within startTimeout is counted as failed and replaced, while max allows it. Nodes with
/// pods are never removed; one that will go (a spot notice) is replaced before it has gone.
Desired decide(const Pool& pool, const ScheduleLook& schedule, const std::vector<Claim>& waiting,
               const std::vector<PoolNode>& nodes, Instant now);

}  // namespace aliquot::pools
