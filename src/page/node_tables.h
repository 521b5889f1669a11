// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "page/table.h"
#include "top/cluster_snapshot.h"

namespace aliquot::page {

/// A pod as whoever starts it knows it.
struct PodSeen {
    std::string name;
    std::string pod_namespace;
    std::string phase;   // "Running", "Pending"
    std::string node;    // empty: none yet
    std::string gpu;     // "0 NVIDIA A2"; empty: none
    std::string share;   // "1 of 2, 7Gi"
    std::string reason;  // why it waits or has failed; empty: all is well
};

/// Something that is wrong, found by somebody else than the measurements.
struct Remark {
    std::string severity;  // "error", "warning", "note"
    std::string where;     // "config.yaml:12", "node gpu-1"
    std::string what;
    std::string fix;  // may be empty
};

/// What a look gave.
struct Sight {
    std::string title;  // "Node gpu-1"; empty: LiveOptions::title
    top::ClusterSnapshot cluster;
    std::vector<PodSeen> pods;
    std::vector<Remark> remarks;
    std::vector<Table> more;  // of others: jobs, cost
};

/// How much of it every viewer gets: of a large cluster not who is on which GPU, which is asked for by node.
enum class Breadth : std::uint8_t { kWhole, kWithoutShares };
inline constexpr std::size_t kMostShares = 4'000;
Breadth breadth_of(const top::ClusterSnapshot& cluster);

/// "nodes", "gpus", "findings", "pods", and with kWhole "shares", "parts" and "details".
/// GPUs have the key "node/index". Memory is in MiB, use in percent, both rounded down.
std::vector<Table> tables_of(const Sight& sight, Breadth breadth);

}  // namespace aliquot::page
