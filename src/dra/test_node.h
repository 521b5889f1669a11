// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "gpu/inventory.h"

namespace aliquot::dra {

/// H100s: GPU-0 at 0000:65:00.0, GPU-1 at 0000:66:00.0, ...
inline gpu::Inventory test_inventory(unsigned gpus) {
    gpu::Inventory inventory{.driver_version = "580.65.06", .cuda_version = 13000};
    for (unsigned index = 0; index < gpus; ++index) {
        inventory.gpus.push_back({.index = index,
                                  .uuid = {"GPU-" + std::to_string(index)},
                                  .minor = index,
                                  .model = "NVIDIA H100 80GB HBM3",
                                  .memory_bytes = 81559ULL << 20U,
                                  .compute_major = 9,
                                  .pci = {.bus = 0x65 + index},
                                  .mig_capable = true});
    }
    return inventory;
}

}  // namespace aliquot::dra
