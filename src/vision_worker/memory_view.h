// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "vision/batch.h"
#include "vision_worker/gpu_share.h"

namespace aliquot::vision_worker {

/// What of a share is for the model. Pure.
/// asked_bytes   a limit of the settings; 0: none
/// model_bytes   of the file: about what its weights take
vision::BatchMemory batch_memory(const GpuShare& share, std::uint64_t asked_bytes,
                                 std::uint64_t model_bytes);

/// Of the text of cpu.max ("200000 100000"): whole cores, at least 1; 0: no limit, or no such text.
int cores_of_quota(std::string_view text);

/// The cores that this process may use: of the machine, its affinity, its control group.
int allowed_cores();

}  // namespace aliquot::vision_worker
