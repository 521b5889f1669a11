// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "gpu/inventory.h"
#include "gpu/partitioning.h"
#include "nvml/library.h"
#include "nvml/mig_profiles.h"

namespace aliquot::nvml {

/// One GPU's handle with what its partitions depend on.
struct PartitionedGpu {
    nvmlDevice_t handle = nullptr;
    std::uint32_t pci_device_id = 0;
    std::uint64_t memory_bytes = 0;
};
Answer<PartitionedGpu> partitioned_gpu(const Library& library, nvmlDevice_t device);

/// gpu::Partitioner's questions, put to one library about one GPU. Each makes the calls in the
/// order that NVML wants; none of them waits.
/// known   of this GPU; what it lacks is asked and added
Answer<gpu::Partitions> look_at_partitions(const Library& library, const PartitionedGpu& gpu,
                                           KnownProfiles& known);
Answer<gpu::ModeChange> set_mig_mode(const Library& library, nvmlDevice_t device, bool enabled);
Answer<unsigned> create_gpu_instance(const Library& library, nvmlDevice_t device,
                                     unsigned profile_id, gpu::MigPlacement placement);
Answer<unsigned> create_compute_instance(const Library& library, nvmlDevice_t device,
                                         unsigned instance, unsigned slices, KnownProfiles& known);
nvmlReturn_t destroy_compute_instance(const Library& library, nvmlDevice_t device,
                                      unsigned instance, unsigned compute);
nvmlReturn_t destroy_gpu_instance(const Library& library, nvmlDevice_t device, unsigned instance);

/// Whether some process has the GPU open. A driver that refuses to tell: false.
bool is_in_use(const Library& library, nvmlDevice_t device);

}  // namespace aliquot::nvml
