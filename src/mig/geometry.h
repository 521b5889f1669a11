// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/gpu_models.h"
#include "gpu/partitioning.h"

namespace aliquot::mig {

/// One way to cut a GPU instance out of a GPU.
struct Profile {
    std::string name;            // "3g.20gb", "1g.5gb+me"
    std::optional<unsigned> id;  // what the driver's create takes; empty: not known offline
    unsigned slices = 0;         // compute slices
    unsigned size = 0;           // memory slices
    unsigned most = 0;           // instances of it on one GPU
    std::uint64_t memory_mib = 0;
    unsigned multiprocessors = 0;              // 0: not known
    std::vector<unsigned> starts;              // allowed first memory slices, ascending
    std::optional<gpu::MigEngines> engines{};  // empty: not known
    bool plain = true;                         // no attribute (+me, +gfx, -me)
};

/// What can be cut out of one GPU, and where.
struct Geometry {
    std::vector<Profile> profiles;  // small ones first
    unsigned slices = 0;            // compute slices of the GPU
    unsigned memory_slices = 0;     // one past the last that an instance can reach; at most 32

    /// The profile of this name ("1g.5gb+me" and "1g.5gb.me" are one), without a compute part.
    [[nodiscard]] std::optional<unsigned> find(std::string_view name) const;
};

/// Of a model, from the tables that ship with the product.
/// errors   kUnsupported: no MIG, or only its driver knows the profiles
Result<Geometry> geometry_of(const catalog::GpuModel& model);

/// Of a GPU that is there, as its driver tells. A profile with several sizes keeps the first.
/// errors   kUnsupported: the driver lists no profile that can be placed
Result<Geometry> geometry_of(const gpu::Partitions& partitions);

/// The same GPU with some of its profiles only.
Geometry only(const Geometry& geometry, const std::vector<std::string_view>& names);

/// An instance at its place.
struct Slot {
    unsigned profile = 0;  // of Geometry::profiles
    unsigned start = 0;
    friend bool operator==(const Slot&, const Slot&) = default;
    friend auto operator<=>(const Slot&, const Slot&) = default;
};

using Layout = std::vector<Slot>;  // by start

/// How far a GPU is filled.
struct Occupancy {
    std::uint32_t memory = 0;             // one bit for each memory slice
    unsigned slices = 0;                  // compute slices in use
    std::vector<std::uint8_t> instances;  // of each profile

    explicit Occupancy(const Geometry& geometry) : instances(geometry.profiles.size()) {}
    [[nodiscard]] bool fits(const Geometry& geometry, Slot slot) const;
    void put(const Geometry& geometry, Slot slot);
    void take(const Geometry& geometry, Slot slot);
};

/// The memory slices of an instance, one bit each.
std::uint32_t mask_of(unsigned start, unsigned size);

/// Every valid layout that holds `fixed`, at most `limit` of them: no two instances overlap, starts
/// are allowed ones, compute slices and the number of instances of a profile are within bounds.
std::vector<Layout> layouts(const Geometry& geometry, const Occupancy& fixed,
                            std::size_t limit = 100'000);

/// Whether nothing can be added to a layout.
bool is_maximal(const Geometry& geometry, const Layout& layout);

/// How many more instances of one profile would fit, with nothing else added.
unsigned further(const Geometry& geometry, const Occupancy& occupancy, unsigned profile);

/// How useful what is left is: over all plain profiles, how many more of each alone would fit,
/// times its memory slices. A 3g at memory slice 4 of an A100 leaves 20, one at 0 leaves 13.
unsigned room(const Geometry& geometry, const Occupancy& occupancy);

}  // namespace aliquot::mig
