// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/node/instances.h"
#include "sim/node/mig_profiles.h"
#include "sim/node/model.h"
#include "sim/node/state.h"

/// MIG of one simulated GPU: its mode and its instances. All of it under the node's lock; whoever
/// changes something also brings the device files up to date (capabilities.h) and announces it.
/// A GPU is named by its place in the state, which must be below gpu_count and of a known model.
namespace aliquot::sim {

enum class MigAnswer : std::uint8_t {
    kDone,
    kNotFound,    // no such instance
    kNoProfile,   // this GPU or GPU instance has no such profile
    kBadPlace,    // no instance of this profile may stand there
    kNoRoom,      // taken, or there are as many as there may be
    kInUse,       // a process or an instance inside is in the way
    kNeedsReset,  // becomes true with the next reset of the GPU
};

/// What a call that makes an instance answers: `id` counts with kDone.
struct Made {
    MigAnswer answer = MigAnswer::kDone;
    unsigned id = 0;
};

/// Where an instance of the profile would fit now: bit n is memory slice n.
unsigned free_starts(const State& state, unsigned gpu, const GpuProfile& profile);
/// The same for compute slices of a GPU instance that exists.
unsigned free_compute_starts(const State& state, unsigned gpu, unsigned gpu_instance,
                             const ComputeProfile& profile);

/// Without `start` the place is the one that spoils the fewest places for other instances, the
/// lowest of equals, which is what drivers were seen to do.
Made create_gpu_instance(State& state, unsigned gpu, unsigned profile_id,
                         std::optional<unsigned> start);
/// kInUse while it has a compute instance.
MigAnswer destroy_gpu_instance(State& state, unsigned gpu, unsigned id);
Made create_compute_instance(State& state, unsigned gpu, unsigned gpu_instance, unsigned profile_id,
                             std::optional<unsigned> start);
/// kInUse while a process runs on it.
MigAnswer destroy_compute_instance(State& state, unsigned gpu, const Instance& instance);

/// Changes the mode, or notes the wish. Ampere: kNeedsReset, or kInUse while a process runs; either
/// way the wish is pending. Hopper and newer: at once, or kInUse (pending) while a process or an
/// instance is there.
MigAnswer set_mig_mode(State& state, unsigned gpu, bool enabled);

/// The MIG part of a GPU reset: no instance survives; on Ampere a pending mode becomes the mode, on
/// newer GPUs the mode is off.
void reset_mig(State& state, unsigned gpu);

/// Cuts a GPU as "3g.20gb,1g.5gb*4,2g.10gb@0" says, wherever all of them fit: MIG mode is on
/// afterwards, older instances are gone, each new one has a compute instance that fills it.
/// errors   kUnsupported: no MIG; kInvalidInput: not of that form, no such profile; kConflict: they do
///          not fit together, or a process uses the GPU
Result<Done> cut_gpu(State& state, unsigned gpu, std::string_view layout);

}  // namespace aliquot::sim
