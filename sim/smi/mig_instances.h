// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sim/smi/gpu.h"

/// What a GPU in MIG mode has been cut into, and could be.
namespace aliquot::sim::smi {

struct ComputeInstance {
    nvmlComputeInstance_t handle = nullptr;
    nvmlComputeInstanceInfo_t info{};
    std::string profile;  // "MIG 1c.3g.20gb"
};

struct GpuInstance {
    nvmlGpuInstance_t handle = nullptr;
    nvmlGpuInstanceInfo_t info{};
    nvmlGpuInstanceProfileInfo_v2_t profile{};
};

bool in_mig_mode(const Gpu& gpu);
/// The profiles, by NVML's enumeration.
std::vector<nvmlGpuInstanceProfileInfo_v2_t> instance_profiles(const Gpu& gpu);
/// By profile, then by id. `code` says why when the driver refuses.
Reading<std::vector<GpuInstance>> gpu_instances(const Gpu& gpu);
std::vector<nvmlComputeInstanceProfileInfo_v2_t> compute_profiles(const Gpu& gpu,
                                                                  nvmlGpuInstance_t instance);
std::vector<ComputeInstance> compute_instances(const Gpu& gpu, nvmlGpuInstance_t instance);

/// -gi and -ci: no ids mean all.
bool is_meant(const std::vector<unsigned>& ids, unsigned id);

}  // namespace aliquot::sim::smi
