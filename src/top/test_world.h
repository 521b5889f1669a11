// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "top/cluster_snapshot.h"

namespace aliquot::top {

inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
inline constexpr std::uint64_t kSecondNs = 1'000'000'000;

// Two nodes as their agents tell them, as plain values: what the goldens show, to the digit.

/// A pod on a time-sliced GPU.
telemetry::Tenant tenant(const std::string& pod_namespace, const std::string& pod,
                         std::uint64_t share_ppm, std::uint64_t busy_ppm);

/// gpu-node-1: GPU 0 in four time slices, two pods busy, one idle, one slot free; GPU 1 in MIG with
/// two instances. It costs 2.5 an hour for each GPU.
telemetry::Snapshot shared_node();
/// gpu-node-2: GPU 0 held alone, GPU 1 lost, with Xids and throttling.
telemetry::Snapshot troubled_node();

/// Only the shared node.
ClusterSnapshot one_node();
/// Both, and an agent that does not answer.
ClusterSnapshot three_nodes();

}  // namespace aliquot::top
