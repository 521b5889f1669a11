// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "document/value.h"
#include "dra/names.h"
#include "gpu/inventory.h"
#include "grant/limits.h"
#include "sharing/offer.h"

namespace aliquot::dra {

/// One device of this node's pool: what is published of it, and what Prepare needs to know.
struct Device {
    enum class Kind : std::uint8_t { kGpu, kShare, kMig };

    std::string name;  // "gpu-0000-65-00-0"; a DNS label, the same over restarts and reboots
    Kind kind = Kind::kGpu;
    gpu::Uuid uuid;  // that a container is given: of the GPU or MIG device
    gpu::Uuid gpu;   // that it is of
    std::uint64_t memory_bytes =
        0;  // that a claim of all of it may use; kShare: of the share, 0: no limit
    std::uint64_t gpu_memory_bytes = 0;  // kShare: of its GPU
    unsigned gpu_compute_percent = 0;    // kShare: that may be given away of its GPU, in all
    bool consumable = false;             // several claims, by consumed capacity
    grant::Limits limits;                // kShare: what its one claim is held to
    gpu::Health health;
    document::Value published;  // an element of spec.devices
};

/// What the inventory does not tell.
struct PlaceFacts {
    std::map<gpu::Uuid, std::string> pcie_roots;  // "pci0000:64"
};

/// A step of consumable memory.
inline constexpr std::uint64_t kMemoryStep = 256ULL << 20U;

/// "580.65.6" of "580.65.06": a semantic version; empty: the text is no version.
std::string semantic_version(std::string_view version);

/// The devices of a node, in the order of its GPUs. GPUs without a uuid are left out; a GPU in MIG mode is
/// published as its MIG devices. `offer` tells the shares of Mode::kFixed. Pure.
std::vector<Device> devices_of(const gpu::Inventory& inventory, const sharing::Offer& offer,
                               const PlaceFacts& places, Mode mode);

}  // namespace aliquot::dra
