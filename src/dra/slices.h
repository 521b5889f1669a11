// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "document/value.h"
#include "dra/device.h"

namespace aliquot::dra {

/// The Node that the slices belong to.
struct NodeIdentity {
    std::string name;
    std::string uid;
};

/// A slice as the API server has it.
struct StoredSlice {
    std::string name;
    std::string uid;
    std::string resource_version;
    std::int64_t generation = 0;
    std::int64_t count = 0;         // resourceSliceCount
    std::optional<unsigned> place;  // in the pool, by its name; empty: not one that we named
    document::Value spec;
    bool owned = true;  // by a controller reference to this Node
};
/// Reads one item of a list. Lenient: a broken slice has no place and is removed.
StoredSlice read_stored_slice(const document::Value& object, const NodeIdentity& node);

/// What is to be written, in this order: removals, replacements, creations.
struct SliceChanges {
    std::vector<StoredSlice> remove;
    struct Write {
        std::optional<StoredSlice> present;  // empty: create
        document::Value object;
    };
    std::vector<Write> write;
    [[nodiscard]] bool empty() const { return remove.empty() && write.empty(); }
};

/// Most devices of one slice; fewer where one has a taint.
inline constexpr std::size_t kMostDevices = 128;
inline constexpr std::size_t kMostTaintedDevices = 64;  // or one takes from counters
inline constexpr std::size_t kMostCounterSets = 8;      // of one slice, which has no devices

/// What makes `stored` the pool of `devices`; nothing when it is that already. No device: one empty slice, which
/// tells that a driver is here. Counter sets are in slices of their own, before the devices. The generation stays when at most one slice changes and none comes or goes; else it
/// is a new one and every slice is written. Taints keep the time that they were added at. Pure.
SliceChanges plan_slices(const NodeIdentity& node, std::span<const Device> devices,
                         std::span<const StoredSlice> stored);

/// What of `written` the API server did not keep, when it has switched a feature off: "allowMultipleAllocations of
/// gpu-0000-65-00-0 (feature gate DRAConsumableCapacity)"; empty: it kept all.
std::vector<std::string> dropped_fields(const document::Value& written,
                                        const document::Value& stored);

/// What an API server may keep or drop.
enum class Feature : std::uint8_t { kConsumable, kCounters };
/// The slice that asks, in a dry run, whether devices with it are kept.
document::Value probe_slice(const NodeIdentity& node, Feature feature);

}  // namespace aliquot::dra
