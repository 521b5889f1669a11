// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/gpu_instances.h"

namespace aliquot::sizing {

enum class Verdict : std::uint8_t { kPass, kWarn, kFail, kUnknown };

/// "pass", "warn", "fail", "unknown".
std::string_view to_text(Verdict verdict);

/// The least that a GPU node must have.
struct NodeFloor {
    std::string_view name;  // "training", "vision"
    double cpu_per_gpu = 0;
    double memory_gib_per_gpu = 0;
    std::string_view driver;      // "535.0"
    std::string_view kubernetes;  // "1.28"
    bool named_gpus = false;      // V100 and A100 are what it is written for; others: a warning
};

/// "training": V100 or A100, 8 cores and 32 GiB for each GPU, NVMe, driver 535, Kubernetes 1.28.
/// "vision": driver 525.60.13, Kubernetes 1.30.
const NodeFloor* find_node_floor(std::string_view name);

/// What is known of a node; empty texts: not known.
struct NodeFacts {
    std::string gpu;
    unsigned gpus = 1;
    double cpu = 0;         // cores, nominal
    double memory_gib = 0;  // nominal
    std::string driver;
    std::string kubernetes;
};

NodeFacts facts_of(const catalog::GpuInstance& instance);

struct FloorCheck {
    std::string name;  // "cpu", "memory", "gpu", "driver", "kubernetes", "nvme", "toolkit"
    Verdict verdict = Verdict::kUnknown;
    std::string found;
    std::string expected;
};

/// Holds a node against a floor, with the nominal sizes that machines are sold by.
std::vector<FloorCheck> check_floor(const NodeFacts& facts, const NodeFloor& floor);

}  // namespace aliquot::sizing
