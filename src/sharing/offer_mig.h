// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/inventory.h"
#include "sharing/config.h"
#include "sharing/offer.h"

/// What a MIG strategy makes of a node's GPUs. Inside src/sharing only.
namespace aliquot::sharing {

inline constexpr std::string_view kWholeGpu = "nvidia.com/gpu";

/// A device that may be offered, with the name of its resource before it is shared or renamed.
struct Candidate {
    OfferedGpu device;
    std::string resource;
};

struct Candidates {
    std::vector<Candidate> list;       // by GPU index, then MIG index
    std::vector<std::string> remarks;  // what is not offered as one would think, and why
};

Candidates find_candidates(MigStrategy strategy, const gpu::Inventory& inventory);

/// Whether a `devices` entry means this MIG device.
/// position   among the devices of its resource, from 0
bool selects_mig(const DeviceSelector& selector, const OfferedGpu& device, std::size_t position);

}  // namespace aliquot::sharing
