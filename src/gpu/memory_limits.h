// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "gpu/inventory.h"

namespace aliquot::gpu {

/// The seam to memory limits that the driver's kernel module keeps. Thread-safe; a call ends within
/// the implementation's deadline (kUnavailable).
class MemoryLimits {
public:
    virtual ~MemoryLimits() = default;

    /// Limits what the processes of a control group may have of a GPU. It goes with the group.
    /// cgroup_directory   of cgroup v2: "/sys/fs/cgroup/kubepods.slice/..."
    /// bytes              0: no limit any more
    /// errors   kUnsupported: a driver before 615, or a MIG device; kPermission: not root;
    ///          kInternal: the driver took it and tells another limit afterwards
    /// source   NVML nvmlDeviceSetMemoryLimits_v1
    virtual Result<Done> set_memory_limit(const Uuid& gpu, const std::string& cgroup_directory,
                                          std::uint64_t bytes) = 0;
};

}  // namespace aliquot::gpu
