// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "catalog/gpu_models.h"

namespace aliquot::catalog {

/// A cloud machine with GPUs.
struct GpuInstance {
    std::string_view cloud;           // "aws", "azure", "gcp"
    std::string_view type;            // "g4dn.xlarge"
    std::string_view gpu;             // "t4": as the cloud's list calls it
    const GpuModel* model = nullptr;  // never null
    unsigned gpu_count = 0;           // 0: a fraction of one GPU, which Kubernetes does not count
    unsigned gpu_memory_mib = 0;      // of one GPU (or of the fraction)
    unsigned vcpu = 0;
    double memory_gib = 0;
    unsigned allocatable_cpu_milli = 0;  // for pods, before daemon sets; 0: not known
    std::uint64_t allocatable_memory_mib = 0;
    double usd_per_hour = 0;       // list price, on demand
    double spot_usd_per_hour = 0;  // 0: not known
    std::string_view region;
    std::string_view price_date;
};

/// All of them, by cloud.
std::span<const GpuInstance> gpu_instances();

/// Case does not matter; nullptr: not in the table.
const GpuInstance* find_gpu_instance(std::string_view type);

/// The type that is most like an unknown one; empty when none is near.
std::string_view nearest_gpu_instance(std::string_view type);

}  // namespace aliquot::catalog
