// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "abi/region.h"
#include "grant/limits.h"

namespace aliquot::guard_region {

/// Limits of one GPU or MIG device, as a guard is told them.
struct Limits {
    std::string uuid;                 // "GPU-..." or "MIG-..."
    std::uint64_t memory_bytes = 0;   // 0: no limit
    std::uint64_t context_bytes = 0;  // assumed for a context until it is measured
    std::uint32_t cap_ppm = 0;        // most GPU time, parts per million of one GPU; 0: no cap
    std::uint32_t weight = 0;         // share under contention; 0: none
    bool kernel_limit = false;        // the driver's kernel module holds the memory limit
    friend bool operator==(const Limits&, const Limits&) = default;
};

inline constexpr std::uint32_t kPpmPerPercent = 10'000;

/// What a guard is told of what was granted.
inline Limits limits_of(std::string uuid, const grant::Limits& granted) {
    return {.uuid = std::move(uuid),
            .memory_bytes = granted.memory_bytes.value_or(0),
            .cap_ppm = granted.compute_percent.value_or(0) * kPpmPerPercent,
            .weight = granted.weight.value_or(0)};
}

/// What a config file says when it is made.
struct Settings {
    std::string container;  // "namespace/pod/container", for messages; cut at 127 bytes
    bool fail_open = false;
    std::uint32_t log_level = 1;  // 0 off, 1 error, 2 info, 3 debug
    std::vector<Limits> devices;  // at most abi::kRegionDevices
    friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace aliquot::guard_region
