// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sim/node/mig_profiles.h"
#include "sim/node/state.h"

/// Which MIG instances a simulated GPU has: looks and changes nothing. Under the node's lock.
namespace aliquot::sim {

/// A GPU instance that exists, with its profile; nullptr for ids that mean none.
struct FoundGpuInstance {
    const GpuInstanceState* state = nullptr;
    const GpuProfile* profile = nullptr;
    explicit operator bool() const { return state != nullptr; }
};
FoundGpuInstance find_gpu_instance(const State& state, unsigned gpu, unsigned id);
/// A compute instance that exists; nullptr: none.
const ComputeInstanceState* find_compute_instance(const State& state, unsigned gpu,
                                                  const Instance& instance);

/// All MIG devices of a GPU by device index.
std::vector<Instance> mig_devices(const State& state, unsigned gpu);
std::uint64_t memory_bytes(const GpuProfile& profile);

}  // namespace aliquot::sim
