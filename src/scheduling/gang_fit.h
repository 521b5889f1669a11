// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "scheduling/bookings.h"

namespace aliquot::scheduling {

inline constexpr char kZoneLabel[] = "topology.kubernetes.io/zone";

/// Pods that get places together.
struct GangAsk {
    std::string id;              // GpuPod::gang of each
    std::string name;            // for people
    std::vector<GpuPod> pods;    // in the order of the queue
    std::set<std::string> near;  // nodes of the gang's other pods
};

/// A place for every pod, or none: as many on one node as fit, the fullest nodes that do; of pods with rules
/// between nodes one on each first; all in one domain of the topology that the gang asks for or would like
/// (zones, when it says nothing), in that of the others of the gang first. What it answers is not booked.
/// It fills nodes one after the other: pods of different shapes may find no place together where
/// a search of all ways would.
GangDecision fit_gang(const GangAsk& ask, const Bookings& bookings);

/// fit_gang() of each, beside those before it that have their places. The bookings are afterwards as they were before; none
/// of the pods has anything that is kept for it.
std::vector<GangDecision> fit_in_turn(const std::vector<GangAsk>& asks, Bookings& bookings);

/// The nodes where all pods would have room when the fewest others have ended; empty: not even then.
std::set<std::string> nodes_to_keep(const GangAsk& ask, const Bookings& bookings);

}  // namespace aliquot::scheduling
