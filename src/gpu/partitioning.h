// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"

namespace aliquot::gpu {

/// What a GPU instance has of the GPU's engines.
struct MigEngines {
    unsigned copy = 0;
    unsigned decoders = 0;
    unsigned encoders = 0;
    unsigned jpeg = 0;
    unsigned optical_flow = 0;
    friend bool operator==(const MigEngines&, const MigEngines&) = default;
};

/// One way to cut a GPU instance out of a GPU, as its driver tells.
struct MigProfile {
    unsigned id = 0;      // what create takes; `nvidia-smi mig -cgi`
    std::string name;     // "1g.10gb+me"
    unsigned slices = 0;  // compute slices
    unsigned most = 0;    // instances of it on one GPU
    std::uint64_t memory_mib = 0;
    unsigned multiprocessors = 0;
    std::vector<MigPlacement> placements;  // all possible, by start
    std::optional<MigEngines> engines{};   // empty: not told
    friend bool operator==(const MigProfile&, const MigProfile&) = default;
};

/// A compute instance that exists.
struct MigComputeInstance {
    unsigned id = 0;
    unsigned profile_id = 0;
    unsigned slices = 0;
    Uuid device;        // "MIG-..."; empty: the driver does not tell
    bool busy = false;  // a process runs on it
    friend bool operator==(const MigComputeInstance&, const MigComputeInstance&) = default;
};

/// A GPU instance that exists.
struct MigInstance {
    unsigned id = 0;
    unsigned profile_id = 0;
    MigPlacement placement;
    std::vector<MigComputeInstance> compute;  // by id
    friend bool operator==(const MigInstance&, const MigInstance&) = default;
};

/// How one GPU is cut and could be cut.
struct Partitions {
    bool enabled = false;  // MIG mode now
    bool pending = false;  // MIG mode after the next reset
    /// The mode changes without a reset when nothing uses the GPU. Empty: the driver does not tell.
    std::optional<bool> resetless;
    bool in_use = false;                 // some process has the GPU open
    std::vector<MigProfile> profiles;    // by id; from the driver, empty while the mode is off
                                         // on drivers that do not tell then
    std::vector<MigInstance> instances;  // by placement
    friend bool operator==(const Partitions&, const Partitions&) = default;
};

/// What a request for another MIG mode has led to.
enum class ModeChange : std::uint8_t { kDone, kNeedsReset };

/// Changes how GPUs are cut. Thread-safe; a call ends within the implementation's deadline
/// (kUnavailable). The same handles as gpu::Sensors: one object may be both. Every method concerns
/// exactly the GPU that is named.
/// errors common to all   kNotFound: no such GPU, profile or instance; kUnsupported: no MIG here;
///          kPermission; kConflict: in use by a process; kUnavailable: the driver does not answer.
///          The message holds NVML's own words.
class Partitioner {
public:
    virtual ~Partitioner() = default;

    virtual Result<Partitions> partitions(const Uuid& gpu) = 0;
    virtual Result<ModeChange> set_mode(const Uuid& gpu, bool enabled) = 0;
    /// Resets the GPU. On boards where a reset takes other GPUs along this is refused (kConflict)
    /// when one of these is in use, or has MIG instances and is not in `may_lose_instances`: they
    /// do not survive a reset.
    virtual Result<Done> reset(const Uuid& gpu, const std::set<Uuid>& may_lose_instances) = 0;
    /// errors   kConflict also: the place is taken
    /// returns  the id of the GPU instance; it has no compute instance yet
    virtual Result<unsigned> create(const Uuid& gpu, unsigned profile_id,
                                    MigPlacement placement) = 0;
    /// slices   of the compute instance; as many as its GPU instance has: all of it
    /// returns  the id of the compute instance
    virtual Result<unsigned> create_compute(const Uuid& gpu, unsigned instance,
                                            unsigned slices) = 0;
    virtual Result<Done> destroy_compute(const Uuid& gpu, unsigned instance, unsigned compute) = 0;
    /// Its compute instances must be gone.
    virtual Result<Done> destroy(const Uuid& gpu, unsigned instance) = 0;
};

}  // namespace aliquot::gpu
