// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/gpu_instances.h"
#include "sizing/instance.h"
#include "sizing/memory.h"

namespace aliquot::sizing {

/// What the machine must have beside the GPUs.
struct HostNeed {
    double cpu_per_gpu = 2;
    double memory_mib = 0;  // of the pod; 0: the weights once (they pass through) and 4 GiB
    std::string gpu;        // only this model; empty: any
    std::string cloud;      // only this cloud; empty: any
    unsigned gpus = 0;      // only this many; 0: 1, 2, 4 or 8
};

/// One way to serve the need.
struct GpuOption {
    const catalog::GpuModel* model = nullptr;
    unsigned count = 1;
    double per_gpu_gib = 0;                          // what the model takes of each
    double gpu_gib = 0;                              // what each has
    double usable_gib = 0;                           // less the slack
    const catalog::GpuInstance* instance = nullptr;  // the cheapest that fits
    double usd_per_hour = 0;
    bool shared = false;  // takes less than half of the card: a share of it will do
};

struct GpuChoice {
    std::vector<GpuOption> best;  // at most three, cheapest first, each another (model, count)
    std::string cheaper;          // what would have to change for the next cheaper machine; may be
                                  // empty
    std::vector<std::string> rejected;  // "t4 x 1: 17.9 GiB needed, 14.25 GiB usable"
};

/// Picks the cheapest GPUs for a model: memory x (1 - 5 %) >= need on each; 1, 2, 4 or 8 of them,
/// and a count that divides the heads; bf16 from compute capability 8.0, fp8 from 7.5; CPU and
/// memory of the machine by what it leaves for pods.
/// errors   those of estimate_memory; kNotFound: an unknown GPU
Result<GpuChoice> choose_gpus(const ModelShape& shape, const Load& load, const HostNeed& host);

}  // namespace aliquot::sizing
