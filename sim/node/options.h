// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::sim {

/// What `aliquot sim up` is asked for: "a2", "h100-80:8".
struct GpuRequest {
    std::string model;
    unsigned count = 1;
};

/// errors   kInvalidInput: no such model (the message lists them, or the nearest), count not 1..16
Result<GpuRequest> parse_gpu_request(std::string_view text);

/// What a simulated node is made of.
struct NodeOptions {
    std::vector<GpuRequest> gpus;
    std::string driver_version = "580.65.06";
    int cuda_version = 13000;
    std::uint64_t seed = 1;  // uuids and serial numbers follow from it
    /// How GPUs are cut from the beginning: "3g.20gb,1g.5gb*4" for all that have MIG, or
    /// "1=7g.40gb" for GPU 1. Each entry means other GPUs or overrules those before it; an empty
    /// layout is MIG mode without instances.
    std::vector<std::string> mig;
    unsigned processors = 0;  // told as CPU affinity; 0: those of this machine
};

}  // namespace aliquot::sim
