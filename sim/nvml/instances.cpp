// SPDX-License-Identifier: Apache-2.0
#include "sim/nvml/instances.h"

#include <map>
#include <mutex>
#include <unordered_set>

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kInstanceMagic = 0x6769'6d5f'6d69'736c;

using Kind = InstanceHandle::Kind;

/// Handles are never freed before the last shutdown: a client may look at one that it kept.
struct InstanceHandles {
    std::mutex mutex;
    std::map<std::pair<Kind, std::uint64_t>, std::unique_ptr<InstanceHandle>> by_incarnation;
    std::unordered_set<const void*> known;
};

InstanceHandles& instance_handles() { return immortal<InstanceHandles>(); }

}  // namespace

void* instance_handle(Kind kind, unsigned slot, const Instance& instance,
                      std::uint64_t incarnation) {
    const std::lock_guard lock(instance_handles().mutex);
    auto& handle = instance_handles().by_incarnation[{kind, incarnation}];
    if (!handle) {
        handle = std::make_unique<InstanceHandle>();
        *handle = {.magic = kInstanceMagic,
                   .incarnation = incarnation,
                   .instance = instance,
                   .slot = slot,
                   .kind = kind};
        instance_handles().known.insert(handle.get());
    }
    return handle.get();
}

std::optional<InstanceHandle> find_instance_handle(const void* handle) {
    const std::lock_guard lock(instance_handles().mutex);
    if (!instance_handles().known.contains(handle)) return std::nullopt;
    return *static_cast<const InstanceHandle*>(handle);
}

void forget_instance_handles() {
    const std::lock_guard lock(instance_handles().mutex);
    instance_handles().known.clear();
    instance_handles().by_incarnation.clear();
}

nvmlDevice_t device_handle(const State& state, unsigned slot, const Instance& instance) {
    const auto* const compute = find_compute_instance(state, slot, instance);
    return static_cast<nvmlDevice_t>(
        instance_handle(Kind::kMigDevice, slot, instance, compute->incarnation));
}

nvmlGpuInstance_t gpu_instance_handle(const State& state, unsigned slot, unsigned id) {
    const auto found = find_gpu_instance(state, slot, id);
    return static_cast<nvmlGpuInstance_t>(
        instance_handle(Kind::kGpuInstance, slot, {.gpu_instance = id}, found.state->incarnation));
}

nvmlComputeInstance_t compute_instance_handle(const State& state, unsigned slot,
                                              const Instance& instance) {
    const auto* const compute = find_compute_instance(state, slot, instance);
    return static_cast<nvmlComputeInstance_t>(
        instance_handle(Kind::kComputeInstance, slot, instance, compute->incarnation));
}

nvmlReturn_t answer_for(MigAnswer answer) {
    switch (answer) {
        case MigAnswer::kDone:
            return NVML_SUCCESS;
        case MigAnswer::kNotFound:
        case MigAnswer::kNoProfile:
        case MigAnswer::kBadPlace:
            return NVML_ERROR_INVALID_ARGUMENT;
        case MigAnswer::kNoRoom:
            return NVML_ERROR_INSUFFICIENT_RESOURCES;
        case MigAnswer::kInUse:
            return NVML_ERROR_IN_USE;
        case MigAnswer::kNeedsReset:
            return NVML_ERROR_RESET_REQUIRED;
    }
    return NVML_ERROR_UNKNOWN;
}

void note_change(const State& state) {
    const auto session = Session::current();
    if (!session) return;
    update_capability_files(session->directory(), state);
    session->shared().announce();
}

}  // namespace aliquot::sim
