// SPDX-License-Identifier: Apache-2.0
#include "sim/node/instances.h"

#include <algorithm>

#include "sim/node/model.h"

namespace aliquot::sim {
namespace {

const Model& model_of(const State& state, unsigned gpu) {
    return *find_model(state.gpus[gpu].model.view());
}

}  // namespace

FoundGpuInstance find_gpu_instance(const State& state, unsigned gpu, unsigned id) {
    if (id >= kMaxGpuInstances) return {};
    const GpuInstanceState& instance = state.mig[gpu].instances[id];
    if (instance.incarnation == 0) return {};
    const Model& model = model_of(state, gpu);
    const GpuProfile* const profile = find_gpu_profile(model, instance.profile_id);
    if (profile == nullptr || instance.size != profile->size ||
        !profile->starts_at(instance.start)) {
        return {};  // the file was damaged
    }
    return {&instance, profile};
}

const ComputeInstanceState* find_compute_instance(const State& state, unsigned gpu,
                                                  const Instance& instance) {
    const auto parent = find_gpu_instance(state, gpu, instance.gpu_instance);
    if (!parent || instance.compute_instance >= kMaxComputeInstances) return nullptr;
    const ComputeInstanceState& compute = parent.state->compute[instance.compute_instance];
    if (compute.incarnation == 0) return nullptr;
    const bool whole = compute.slices > 0 && compute.slices <= parent.profile->slices &&
                       compute.start <= parent.profile->slices - compute.slices;
    return whole ? &compute : nullptr;
}

std::vector<Instance> mig_devices(const State& state, unsigned gpu) {
    std::vector<Instance> devices;
    for (unsigned id = 0; id < kMaxGpuInstances; ++id) {
        if (state.mig[gpu].instances[id].incarnation == 0) continue;
        for (unsigned compute = 0; compute < kMaxComputeInstances; ++compute) {
            const Instance device{.gpu_instance = id, .compute_instance = compute};
            if (find_compute_instance(state, gpu, device) != nullptr) devices.push_back(device);
        }
    }
    std::ranges::stable_sort(devices, {}, [&](const Instance& device) {
        return find_compute_instance(state, gpu, device)->device_index;
    });
    return devices;
}

std::uint64_t memory_bytes(const GpuProfile& profile) {
    return std::uint64_t{profile.memory_mib} << 20;
}

}  // namespace aliquot::sim
