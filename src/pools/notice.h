// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "k8s/node.h"
#include "pools/time_zone.h"

namespace aliquot::pools {

/// A node's word that it will go, whoever gave it.
struct Notice {
    std::string why;                 // "spot: the cloud takes the machine back"
    std::optional<Instant> goes_at;  // empty: nobody says; whoever told the node drains it
    friend bool operator==(const Notice&, const Notice&) = default;
};

/// What a Node shows of it: our annotation aliquot.dev/leaves-at (a time); the taints of AWS Node Termination Handler (two
/// minutes from when they were set), of GKE (30 seconds), of Karpenter and of Cluster Autoscaler; the condition
/// VMEventScheduled of Azure's node problem detector (30 seconds). A node that is being deleted goes, too.
std::optional<Notice> notice_of(const k8s::Node& node, bool is_deleted);

inline constexpr std::string_view kLeavesAt = "aliquot.dev/leaves-at";

}  // namespace aliquot::pools
