// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/environment.h"

namespace aliquot::sim::cluster {

enum class Phase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed };
std::string_view to_text(Phase phase);

struct GpuRow {
    unsigned index = 0;
    std::string uuid;
    std::string model;
    std::uint64_t memory_bytes = 0;
    bool healthy = true;
    std::string problem;  // why it is not, when known
    unsigned shares_total = 0;
    unsigned shares_used = 0;
    bool by_claims = false;  // shares_used: pods with a claim; there is no total
    friend bool operator==(const GpuRow&, const GpuRow&) = default;
};

struct PodRow {
    std::string name;
    std::string pod_namespace;
    Phase phase = Phase::kPending;
    std::vector<std::string> gpus;     // uuids
    std::vector<std::string> devices;  // ids, as kubelet knows them
    Environment environment;           // what Allocate returned
    std::string gpu_text;              // "0 NVIDIA A2"
    std::string share_text;            // "1 of 2, 7Gi"
    std::string reason;
    std::string log;        // of its first container; empty: it has not started
    bool troubled = false;  // failed, or keeps crashing
    friend bool operator==(const PodRow&, const PodRow&) = default;
};

/// All there is to show at one moment.
struct Snapshot {
    std::vector<GpuRow> gpus;
    std::vector<PodRow> pods;
    friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

}  // namespace aliquot::sim::cluster
