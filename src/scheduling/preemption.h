// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduling/bookings.h"

namespace aliquot::scheduling {

struct PreemptionRules {
    std::string bound_before;       // RFC 3339: who was bound later, or nobody knows when, stays
    std::set<std::string> spared;   // uids of pods that stay
    std::set<std::string> leaving;  // uids of pods that were evicted, whatever they still say
    bool await_leaving = true;      // false: who leaves already takes too long, others have to go
};

/// Whose end makes room for a pod on one node.
struct Preemption {
    std::string node;
    std::vector<GpuPod> victims;  // empty: who leaves already makes the room
};

/// The fewest pods of a lower priority whose end would give the pod a place; of as few those that matter least,
/// then those that have run for the shortest time. More than two on one node are taken one by one, cheapest
/// first, and who is not needed in the end is left out: then fewer may do; of more than 256 nodes the first by name.
/// That they are gone must be enough under what other pods mean, too (neighbours.h): who keeps the pod off by
/// anti-affinity or a port may have to go, a pod that it must be beside stays. Pods of gangs stay, since a gang would
/// be left in part, and so do pods of DaemonSets and of the node itself, which come back to where they were.
/// Empty: no such pods, or the pod may not preempt.
std::optional<Preemption> preemption_for(const GpuPod& pod, const Bookings& bookings,
                                         const PreemptionRules& rules);

}  // namespace aliquot::scheduling
