// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "document/value.h"
#include "dra/names.h"
#include "gpu/inventory.h"
#include "grant/limits.h"
#include "mig/geometry.h"
#include "sharing/offer.h"

namespace aliquot::dra {

/// What must be so of a GPU that claims cut, before a container gets a device of it: an instance at its place, or
/// MIG off.
struct Cut {
    std::string profile;  // "3g.40gb"; empty: MIG off, for all of the GPU
    unsigned start = 0;   // memory slices
    unsigned size = 0;
    [[nodiscard]] bool is_off() const { return profile.empty(); }
    [[nodiscard]] bool overlaps(const Cut& other) const {
        return is_off() || other.is_off() ||
               (start < other.start + other.size && other.start < start + size);
    }
    friend bool operator==(const Cut&, const Cut&) = default;
};

/// One device of this node's pool: what is published of it, and what Prepare needs to know.
struct Device {
    enum class Kind : std::uint8_t { kGpu, kShare, kMig };

    std::string name;  // "gpu-0000-65-00-0"; a DNS label, the same over restarts and reboots
    Kind kind = Kind::kGpu;
    gpu::Uuid
        uuid;  // that a container is given: of the GPU or MIG device; empty: it is made for a claim
    gpu::Uuid gpu;  // that it is of
    std::uint64_t memory_bytes =
        0;  // that a claim of all of it may use; kShare: of the share, 0: no limit
    std::uint64_t gpu_memory_bytes = 0;  // kShare: of its GPU
    unsigned gpu_compute_percent = 0;    // kShare: that may be given away of its GPU, in all
    bool consumable = false;             // several claims, by consumed capacity
    grant::Limits limits;                // kShare: what its one claim is held to
    gpu::Health health;
    std::optional<Cut> cut;  // set: claims cut this GPU
    /// Its GPU has the other MIG mode, and these are reset along when that changes; null: none.
    std::shared_ptr<const std::set<std::string>> reset_along;
    bool along_counted = false;  // counters tell whether claims hold any of them
    document::Value published;   // an element of spec.devices
    /// The counter sets that it takes from, elements of spec.sharedCounters.
    std::vector<std::shared_ptr<const document::Value>> counters;
};

/// What the inventory does not tell.
struct PlaceFacts {
    std::map<gpu::Uuid, std::string> pcie_roots;  // "pci0000:64"
    /// The GPUs that are cut when a claim is prepared, and how each can be.
    std::map<gpu::Uuid, mig::Geometry> cut_by_claims;
};

/// A step of consumable memory.
inline constexpr std::uint64_t kMemoryStep = 256ULL << 20U;

/// "580.65.6" of "580.65.06": a semantic version; empty: the text is no version.
std::string semantic_version(std::string_view version);

/// The devices of a node, in the order of its GPUs. GPUs without a uuid are left out; a GPU in MIG mode is
/// published as its MIG devices. One that claims cut is published as a whole and as every MIG device that can be cut out
/// of it, all of which take from one counter set. `offer` tells the shares of Mode::kFixed. Pure.
std::vector<Device> devices_of(const gpu::Inventory& inventory, const sharing::Offer& offer,
                               const PlaceFacts& places, Mode mode);

}  // namespace aliquot::dra
