// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "gpu/hardware.h"
#include "gpu/inventory.h"
#include "nvml/kernel_files.h"
#include "nvml/library.h"
#include "nvml/mig_profiles.h"

namespace aliquot::nvml {

/// All that one GPU tells about itself. The first call that fails makes it unhealthy; the others
/// are still asked.
/// minors   for the MIG devices; read when the GPU is in MIG mode
/// known    of this GPU; what it lacks is asked and added
gpu::Gpu read_gpu(const Library& library, const KernelFiles& kernel, unsigned index,
                  nvmlDevice_t device, SharedMinors& minors, KnownProfiles& known);

/// Gives GPUs that could not even tell their address the identity that the kernel has for the
/// addresses nobody else claims, when there are as many of these: both are in bus order.
void name_the_lost(const KernelFiles& kernel, std::vector<gpu::Gpu>& gpus);

/// What the GPU does not report stays empty; any other failed call is the answer's code.
Answer<gpu::Sample> read_sample(const Library& library, nvmlDevice_t device);

/// All processes once each, by pid.
Answer<std::vector<gpu::Process>> read_process_list(const Library& library, nvmlDevice_t device);

/// Scores between all pairs. A pair that cannot be read is as far apart as two GPUs can be.
/// devices   nullptr for a GPU that does not answer
/// asking    told which of them is asked, in case it does not return
std::vector<std::vector<gpu::LinkScore>> read_links(const Library& library,
                                                    const std::vector<nvmlDevice_t>& devices,
                                                    const std::vector<gpu::Gpu>& gpus,
                                                    std::atomic<std::size_t>& asking);

}  // namespace aliquot::nvml
