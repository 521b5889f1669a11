// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "sim/node/capabilities.h"
#include "sim/nvml/library.h"

/// Handles of MIG instances and MIG devices. A handle means one incarnation: when the instance is
/// gone it means nothing, also when another one takes its place.
namespace aliquot::sim {

struct InstanceHandle {
    enum class Kind : std::uint8_t { kGpuInstance, kComputeInstance, kMigDevice };
    std::uint64_t magic = 0;
    std::uint64_t incarnation = 0;
    Instance instance;
    unsigned slot = 0;
    Kind kind = Kind::kGpuInstance;
};

/// The handle of an instance: always the same one. It stays readable until the last shutdown.
void* instance_handle(InstanceHandle::Kind kind, unsigned slot, const Instance& instance,
                      std::uint64_t incarnation);
/// What a handle means; nothing when it is none of ours.
std::optional<InstanceHandle> find_instance_handle(const void* handle);
void forget_instance_handles();

nvmlDevice_t device_handle(const State& state, unsigned slot, const Instance& instance);
nvmlGpuInstance_t gpu_instance_handle(const State& state, unsigned slot, unsigned id);
nvmlComputeInstance_t compute_instance_handle(const State& state, unsigned slot,
                                              const Instance& instance);

/// Of a change: what NVML answers for it.
nvmlReturn_t answer_for(MigAnswer answer);

/// Answers a call on a GPU or compute instance: `answer` gets the Gpu, the locked State and which
/// instance it is. INVALID_ARGUMENT for a handle that means none (any more).
template <class Answer>
nvmlReturn_t with_instance(const void* handle, InstanceHandle::Kind kind, Answer&& answer) {
    const auto session = Session::current();
    if (!session) return NVML_ERROR_UNINITIALIZED;
    const auto found = find_instance_handle(handle);
    if (!found || found->kind != kind) return NVML_ERROR_INVALID_ARGUMENT;
    const auto index = session->index_of_slot(found->slot);
    if (!index) return NVML_ERROR_INVALID_ARGUMENT;
    Gpu gpu;
    if (const auto result = session->look_at(*index, gpu); result != NVML_SUCCESS) return result;
    const auto state = session->lock();
    if (!state) return NVML_ERROR_UNKNOWN;
    std::uint64_t incarnation = 0;
    if (kind == InstanceHandle::Kind::kGpuInstance) {
        const auto now = find_gpu_instance(**state, found->slot, found->instance.gpu_instance);
        if (now) incarnation = now.state->incarnation;
    } else {
        const auto* const now = find_compute_instance(**state, found->slot, found->instance);
        if (now != nullptr) incarnation = now->incarnation;
    }
    if (incarnation != found->incarnation) return NVML_ERROR_INVALID_ARGUMENT;
    return answer(gpu, **state, found->instance);
}

template <class Answer>
nvmlReturn_t with_gpu_instance(nvmlGpuInstance_t handle, Answer&& answer) {
    return with_instance(handle, InstanceHandle::Kind::kGpuInstance, std::forward<Answer>(answer));
}
template <class Answer>
nvmlReturn_t with_compute_instance(nvmlComputeInstance_t handle, Answer&& answer) {
    return with_instance(handle, InstanceHandle::Kind::kComputeInstance,
                         std::forward<Answer>(answer));
}

/// Answers a call that lists or changes instances of a GPU: its mode is on, and this process may.
template <class Answer>
nvmlReturn_t with_mig_gpu(nvmlDevice_t device, Answer&& answer) {
    return with_state_of(device, [&](const Gpu& gpu, State& state) -> nvmlReturn_t {
        if (state.gpus[gpu.slot].mig_current == 0) return NVML_ERROR_NOT_SUPPORTED;
        if (Session::current()->restricted(gpu.index)) return NVML_ERROR_NO_PERMISSION;
        return answer(gpu, state);
    });
}

/// After a change, still under the lock: device files and sleepers.
void note_change(const State& state);

}  // namespace aliquot::sim
