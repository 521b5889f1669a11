// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "gpu/partitioning.h"
#include "nvml/library.h"

namespace aliquot::nvml {

/// What the names of a GPU's profiles depend on.
struct ProfileGround {
    nvmlDevice_t device = nullptr;
    std::uint32_t pci_device_id = 0;  // as gpu::Gpu has it
    std::uint64_t memory_bytes = 0;   // of the GPU
};

/// What the driver has told of one GPU's profiles. They are the same for as long as its handle is
/// good, and half of all that there is to ask about MIG: so they are asked for once.
struct KnownProfiles {
    std::vector<gpu::MigProfile> gpu;  // empty: not told yet
    /// By the profile of the GPU instance.
    std::map<unsigned, std::vector<nvmlComputeInstanceProfileInfo_t>> compute;
};

/// The ways to cut a GPU instance that the driver lists, by id. They are named as NVIDIA's tools
/// name them, from the share of memory and the kind of the profile; one of a kind that is newer
/// than we are keeps the driver's own name. A wrong answer that is known (A30) is put right.
/// code of the answer   the first refusal that is no answer about a profile
Answer<std::vector<gpu::MigProfile>> gpu_profiles(const Library& library,
                                                  const ProfileGround& ground,
                                                  KnownProfiles& known);

/// The ways to cut a compute instance out of a GPU instance of this profile.
const std::vector<nvmlComputeInstanceProfileInfo_t>& compute_profiles(const Library& library,
                                                                      nvmlGpuInstance_t instance,
                                                                      unsigned profile_id,
                                                                      KnownProfiles& known);

}  // namespace aliquot::nvml
