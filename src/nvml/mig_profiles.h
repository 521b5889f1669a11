// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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

/// The ways to cut a GPU instance that the driver lists, by id, without placements. They are named
/// as NVIDIA's tools name them, from the share of memory and the kind of the profile; one of a kind
/// that is newer than we are keeps the driver's own name. A wrong answer that is known (A30) is put
/// right.
/// code of the answer   the first refusal that is no answer about a profile
Answer<std::vector<gpu::MigProfile>> read_profiles(const Library& library,
                                                   const ProfileGround& ground);

/// Fills in where each profile may lie.
nvmlReturn_t read_placements(const Library& library, const ProfileGround& ground,
                             std::vector<gpu::MigProfile>& profiles);

}  // namespace aliquot::nvml
