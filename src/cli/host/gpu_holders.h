// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gpu/hardware.h"
#include "pods/claim_state.h"
#include "pods/device_holds.h"

namespace aliquot::cli {

/// Which GPUs of a node pods have, by device plugin or by ResourceClaim.
struct GpuHolders {
    std::set<std::string> uuids;  // of GPUs; of one whose MIG device is held, too
    std::string problem;          // why it may be any GPU: then `uuids` has all of them
};

/// Pure. Where nobody can say what a claim of a GPU driver holds, it may be any.
/// claims   what kubelet has written down; it lists claims only as long as it runs
GpuHolders holders_of(const gpu::Inventory& inventory, const pods::DeviceHolds& holds,
                      const Result<std::vector<pods::ClaimHold>>& claims);

}  // namespace aliquot::cli
