// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/meters.h"
#include "nvml/inquiry.h"

namespace aliquot::nvml {

/// What does not change while the driver is loaded: highest clocks, temperature limits.
gpu::MetricValues read_lasting_metrics(Inquiry& inquiry);

/// Memory and BAR1 of a GPU, or of the GPU instance that the MIG device `inquiry.device()` lies in.
void read_memory(Inquiry& inquiry, gpu::MetricValues& metrics);

/// All other metrics of a GPU but those of GPM.
/// virtual_gpu   it is a vGPU guest's, so it may have a licence
void read_metrics(Inquiry& inquiry, bool virtual_gpu, gpu::MetricValues& metrics);

/// Whether this is the virtual GPU of a guest.
bool is_virtual_gpu(Inquiry& inquiry);

}  // namespace aliquot::nvml
