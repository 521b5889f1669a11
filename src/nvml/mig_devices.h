// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "gpu/inventory.h"
#include "nvml/kernel_files.h"
#include "nvml/library.h"
#include "nvml/mig_profiles.h"

namespace aliquot::nvml {

/// The MIG devices of a GPU in MIG mode, by index. One that goes while it is read is left out; one
/// whose instance may not be looked at keeps what its own handle tells.
/// gpu      what is known of the GPU: minor, memory, PCI id
/// known    likewise, its profiles; what it lacks is asked and added
Answer<std::vector<gpu::MigDevice>> read_mig_devices(const Library& library,
                                                     const MigMinors& minors, nvmlDevice_t device,
                                                     const gpu::Gpu& gpu, KnownProfiles& known);

/// A MIG device's handle with the ids that name it.
struct MigHandle {
    nvmlDevice_t handle = nullptr;
    unsigned index = 0;
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
};
Answer<std::vector<MigHandle>> read_mig_handles(const Library& library, nvmlDevice_t device);

}  // namespace aliquot::nvml
