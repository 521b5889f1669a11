// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "k8s/amounts.h"
#include "k8s/node.h"
#include "k8s/pod.h"
#include "pools/pool.h"

namespace aliquot::pools {

/// A pod that waits, or one that has a node.
struct Claim {
    std::string pod;  // "namespace/name"
    k8s::Amounts amounts;
    std::chrono::seconds waited{};  // of one that waits
    bool hidden = false;            // it has our scheduling gate: autoscalers do not see it
};

/// A node of the pool as it stands.
struct PoolNode {
    std::string name;
    k8s::Amounts free;             // allocatable without what pods hold
    bool is_ready = false;         // Ready, and not cordoned
    std::string not_passed{};      // the first gate that it has not passed; empty: all are
    std::chrono::seconds seen{};   // since it was first seen
    std::chrono::seconds empty{};  // since no pod of ours was on it; counts when pods is 0
    unsigned pods = 0;             // that hold devices or shares there
    bool leaves = false;           // it was told to go, or a notice says it will
    std::string sick{};            // why no job may go there although it runs; empty: it is well
    std::string capacity_type{};   // "spot", "on-demand"; empty: nobody says

    [[nodiscard]] bool is_capacity() const {
        return is_ready && not_passed.empty() && !leaves && sick.empty();
    }
};

/// What the queue wants of a pool, in nodes.
struct QueueNeed {
    unsigned nodes = 0;   // that have pods or will have some
    unsigned more = 0;    // of them, such as do not exist yet
    unsigned placed = 0;  // waiting pods that find room on nodes that exist or start
    unsigned on_new = 0;  // and on the new ones
    unsigned unseen = 0;  // of nodes: not there yet, and wanted by pods that autoscalers do not see
    std::vector<std::string> served;     // pods that find room
    std::vector<std::string> too_large;  // pods that no node of this shape has room for
};

/// Puts the waiting pods on nodes that are there, on those that start (they count as the pool's shape: nobody asks
/// for them twice), then on new ones: the largest first, each on the first node with room. Whole devices and
/// shares are amounts alike; a share takes its part of a node, never a whole one.
/// most   new nodes that are looked at
QueueNeed need_of(const std::vector<Claim>& waiting, const std::vector<PoolNode>& nodes,
                  const NodeShape& shape, std::chrono::seconds start_timeout, unsigned most);

/// Whether the pool's nodes may take the pod, as far as node selectors, affinity and taints go. A pod that asks
/// for no GPU resource is none of ours.
bool may_take(const Pool& pool, const k8s::Pod& pod);

}  // namespace aliquot::pools
