// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/inventory.h"
#include "gpu/meters.h"
#include "telemetry/scene.h"
#include "telemetry/snapshot.h"

namespace aliquot::telemetry {

/// What a part of a GPU is, for sorting out whose it is.
struct PartIdentity {
    std::optional<unsigned> gpu_instance;  // MIG
    std::string profile;
    std::vector<gpu::Uuid> devices;  // that stand for it: the GPU, or its MIG devices
    unsigned slices = 1;             // compute slices of the GPU that it has
};
/// The parts of a GPU, by GPU instance.
std::vector<PartIdentity> parts_of(const gpu::Gpu& gpu);

/// A process with what it used since the look before.
struct MeteredProcess {
    Process process;
    std::optional<std::uint64_t> use_ns;
};

/// A container with what it has to do with a part: what it holds, what it runs, what its guard says.
struct Occupant {
    pods::Owner owner;
    std::string resource;
    std::vector<std::string> ids;
    bool whole = false;  // it holds the part, and shares it with nobody
    std::uint64_t entitlement_ppm = 0;
    std::optional<std::uint64_t> memory_limit_bytes;
    std::vector<MeteredProcess> processes;
    std::optional<std::uint64_t> process_memory_bytes;  // empty: of none it is known
    std::optional<std::uint64_t> process_use_ns;        // since the look before; empty: not known
    const guard_region::DeviceStatus* guard = nullptr;
    /// Whose part of the time that nobody here used it may be: see departures.h.
    std::uint64_t left_weight = 0;  // processes of it have left since the look before
    std::uint64_t late_weight = 0;  // they had left by then: a sample may still tell of them
    bool gone = false;              // it holds nothing and runs nothing any more
    bool maybe_ran = false;         // it is new here, and was not seen to run anything
};

/// Everybody on one part.
struct Occupants {
    std::vector<Occupant> list;
    std::vector<MeteredProcess> others;  // of the host, or nobody knows whose
    std::uint64_t others_use_ns = 0;
    std::uint64_t others_left_weight = 0;
    std::map<std::uint32_t, std::uint64_t> unlisted_uses;  // by pid, of those that have ended
    bool processes_known = false;  // the driver lists them, and they could be told apart
    bool uses_known = false;
};

/// Sorts out who is on a part. Pure but for scene.belonging.
/// uses   GPU time by pid since the look before; null: the driver does not tell
Occupants occupants_on(const PartIdentity& part, const gpu::Gpu& gpu, const gpu::Reading& reading,
                       const std::map<std::uint32_t, std::uint64_t>* uses, const Scene& scene);

/// Whether two owners are the same container, by what is known of both.
bool same_container(const pods::Owner& a, const pods::Owner& b);

}  // namespace aliquot::telemetry
