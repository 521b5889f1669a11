// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace aliquot::vision_worker {

/// A GPU as the CUDA driver tells this process of it: behind a guard, the share; on MIG, the instance.
struct GpuShare {
    std::string name;
    std::uint64_t total_bytes = 0;
    std::uint64_t free_bytes = 0;  // with a context of this process already there
};

/// Makes the context that ONNX Runtime uses too, so that what it takes is taken when the memory is looked at. The context
/// stays for as long as the process.
/// errors   kNotFound: there is no CUDA driver; kUnavailable: it has no such GPU, or no room for a context
Result<GpuShare> look_at_share(unsigned device);

}  // namespace aliquot::vision_worker
