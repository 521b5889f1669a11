// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"
#include "os/root.h"

namespace aliquot::nvml {

/// Where the driver's own program is.
struct ResetProgram {
    std::string path;               // of nvidia-smi
    std::string library_directory;  // of libnvidia-ml.so.1, for it to find
};

/// nvidia-smi beneath the driver root; kNotFound says where it was looked for.
/// library   the libnvidia-ml.so.1 that was opened
Result<ResetProgram> find_reset_program(const os::Root& root, const std::string& driver_root,
                                        const std::string& library);

/// Resets exactly `gpus`, all at once. NVML has no call for this, only nvidia-smi does it.
/// errors   kConflict: something has a GPU open; kUnsupported: these cannot be reset (a virtual
///          machine's mostly); kPermission; kUnavailable: not done within `deadline`
Result<Done> reset_gpus(const ResetProgram& program, const std::vector<gpu::PciAddress>& gpus,
                        std::chrono::milliseconds deadline);

}  // namespace aliquot::nvml
