// SPDX-License-Identifier: Apache-2.0
//
// Compute instances: how a GPU instance is cut further.
#include <algorithm>
#include <bit>
#include <string>

#include "sim/nvml/instances.h"

using namespace aliquot::sim;

namespace {

template <class Info>
void fill(Info& info, const ComputeProfile& profile, const GpuProfile& within) {
    info.id = profile.id;
    info.sliceCount = profile.slices;
    info.instanceCount = profile.most;
    info.multiprocessorCount = profile.multiprocessors;
    info.sharedCopyEngineCount = within.copy_engines;
    info.sharedDecoderCount = within.decoders;
    info.sharedEncoderCount = 0;
    info.sharedJpegCount = within.jpegs;
    info.sharedOfaCount = within.flows;
}

template <class Info>
nvmlReturn_t fill_versioned(void* to, const ComputeProfile& profile, const GpuProfile& within) {
    auto& info = *static_cast<Info*>(to);
    const auto version = info.version;
    info = {};
    info.version = version;
    fill(info, profile, within);
    return copy_text("MIG " + device_profile_name(within, profile.slices), info.name,
                     sizeof info.name);
}

const GpuProfile& profile_of(const State& state, const Gpu& gpu, const Instance& which) {
    return *find_gpu_instance(state, gpu.slot, which.gpu_instance).profile;
}

/// The profile of one of the info calls; without slices: there is none, and `why`.
ComputeProfile profile_at(const State& state, const Gpu& gpu, const Instance& which, unsigned index,
                          unsigned engines, nvmlReturn_t* why) {
    *why = NVML_ERROR_INVALID_ARGUMENT;
    if (index >= NVML_COMPUTE_INSTANCE_PROFILE_COUNT ||
        engines >= NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT) {
        return {};
    }
    *why = NVML_ERROR_NOT_SUPPORTED;
    return compute_profile(*gpu.model, profile_of(state, gpu, which), index);
}

nvmlReturn_t create(nvmlGpuInstance_t instance, unsigned profile_id,
                    const nvmlComputeInstancePlacement_t* placement, nvmlComputeInstance_t* made) {
    return with_gpu_instance(
        instance, [&](const Gpu& gpu, State& state, const Instance& which) -> nvmlReturn_t {
            if (made == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
            std::optional<unsigned> start;
            if (placement != nullptr) {
                const auto profile =
                    compute_profile(*gpu.model, profile_of(state, gpu, which), profile_id);
                if (placement->size != profile.slices) return NVML_ERROR_INVALID_ARGUMENT;
                start = placement->start;
            }
            const auto answer =
                create_compute_instance(state, gpu.slot, which.gpu_instance, profile_id, start);
            if (answer.answer != MigAnswer::kDone) return answer_for(answer.answer);
            *made = compute_instance_handle(
                state, gpu.slot,
                {.gpu_instance = which.gpu_instance, .compute_instance = answer.id});
            note_change(state);
            return NVML_SUCCESS;
        });
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t instance,
                                                          unsigned int index, unsigned int engines,
                                                          nvmlComputeInstanceProfileInfo_t* info) {
    return with_gpu_instance(
        instance, [&](const Gpu& gpu, const State& state, const Instance& which) -> nvmlReturn_t {
            nvmlReturn_t why = NVML_SUCCESS;
            if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
            const auto profile = profile_at(state, gpu, which, index, engines, &why);
            if (profile.slices == 0) return why;
            *info = {};
            fill(*info, profile, profile_of(state, gpu, which));
            return NVML_SUCCESS;
        });
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(
    nvmlGpuInstance_t instance, unsigned int index, unsigned int engines,
    nvmlComputeInstanceProfileInfo_v2_t* info) {
    return with_gpu_instance(
        instance, [&](const Gpu& gpu, const State& state, const Instance& which) -> nvmlReturn_t {
            nvmlReturn_t why = NVML_SUCCESS;
            if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
            const auto profile = profile_at(state, gpu, which, index, engines, &why);
            if (profile.slices == 0) return why;
            const GpuProfile& within = profile_of(state, gpu, which);
            if (info->version == nvmlComputeInstanceProfileInfo_v2) {
                return fill_versioned<nvmlComputeInstanceProfileInfo_v2_t>(info, profile, within);
            }
            if (info->version == nvmlComputeInstanceProfileInfo_v3) {
                return fill_versioned<nvmlComputeInstanceProfileInfo_v3_t>(info, profile, within);
            }
            return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        });
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t instance,
                                                                unsigned int profileId,
                                                                unsigned int* count) {
    return with_gpu_instance(
        instance, [&](const Gpu& gpu, const State& state, const Instance& which) -> nvmlReturn_t {
            const auto profile =
                compute_profile(*gpu.model, profile_of(state, gpu, which), profileId);
            if (count == nullptr || profile.slices == 0) return NVML_ERROR_INVALID_ARGUMENT;
            *count = static_cast<unsigned>(
                std::popcount(free_compute_starts(state, gpu.slot, which.gpu_instance, profile)));
            return NVML_SUCCESS;
        });
}
// As for GPU instances of the second version: without `placements` it only counts.
nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(
    nvmlGpuInstance_t instance, unsigned int profileId, nvmlComputeInstancePlacement_t* placements,
    unsigned int* count) {
    return with_gpu_instance(
        instance, [&](const Gpu& gpu, const State& state, const Instance& which) -> nvmlReturn_t {
            const GpuProfile& within = profile_of(state, gpu, which);
            const auto profile = compute_profile(*gpu.model, within, profileId);
            if (count == nullptr || profile.slices == 0) return NVML_ERROR_INVALID_ARGUMENT;
            const unsigned has = *count;
            *count = profile.most;
            if (placements == nullptr) return NVML_SUCCESS;
            if (has < profile.most) return NVML_ERROR_INSUFFICIENT_SIZE;
            for (unsigned start = 0; start < within.slices; ++start) {
                if ((profile.starts >> start & 1) != 0) *placements++ = {start, profile.slices};
            }
            return NVML_SUCCESS;
        });
}

nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t instance,
                                                  unsigned int profileId,
                                                  nvmlComputeInstance_t* computeInstance) {
    return create(instance, profileId, nullptr, computeInstance);
}
nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(
    nvmlGpuInstance_t instance, unsigned int profileId,
    const nvmlComputeInstancePlacement_t* placement, nvmlComputeInstance_t* computeInstance) {
    if (placement == nullptr && Session::current()) return NVML_ERROR_INVALID_ARGUMENT;
    return create(instance, profileId, placement, computeInstance);
}
nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t instance) {
    return with_compute_instance(
        instance, [&](const Gpu& gpu, State& state, const Instance& which) -> nvmlReturn_t {
            const auto answer = destroy_compute_instance(state, gpu.slot, which);
            if (answer == MigAnswer::kDone) note_change(state);
            return answer_for(answer);
        });
}

// `instances` has room for as many as the profile allows; `count` only tells.
nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t instance, unsigned int profileId,
                                                nvmlComputeInstance_t* instances,
                                                unsigned int* count) {
    return with_gpu_instance(
        instance, [&](const Gpu& gpu, const State& state, const Instance& which) -> nvmlReturn_t {
            const auto profile =
                compute_profile(*gpu.model, profile_of(state, gpu, which), profileId);
            if (instances == nullptr || count == nullptr || profile.slices == 0) {
                return NVML_ERROR_INVALID_ARGUMENT;
            }
            *count = 0;
            for (unsigned id = 0; id < kMaxComputeInstances && *count < profile.most; ++id) {
                const Instance compute{which.gpu_instance, id};
                const auto* const found = find_compute_instance(state, gpu.slot, compute);
                if (found == nullptr || found->profile_id != profile.id) continue;
                instances[(*count)++] = compute_instance_handle(state, gpu.slot, compute);
            }
            return NVML_SUCCESS;
        });
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t instance, unsigned int id,
                                                   nvmlComputeInstance_t* computeInstance) {
    return with_gpu_instance(
        instance, [&](const Gpu& gpu, const State& state, const Instance& which) -> nvmlReturn_t {
            if (computeInstance == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
            const Instance compute{which.gpu_instance, id};
            if (find_compute_instance(state, gpu.slot, compute) == nullptr) {
                return NVML_ERROR_NOT_FOUND;
            }
            *computeInstance = compute_instance_handle(state, gpu.slot, compute);
            return NVML_SUCCESS;
        });
}
nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t instance,
                                           nvmlComputeInstanceInfo_t* info) {
    return with_compute_instance(
        instance, [&](const Gpu& gpu, const State& state, const Instance& which) -> nvmlReturn_t {
            if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
            const auto& compute = *find_compute_instance(state, gpu.slot, which);
            *info = {.device = Session::handle_of(gpu.index),
                     .gpuInstance = gpu_instance_handle(state, gpu.slot, which.gpu_instance),
                     .id = which.compute_instance,
                     .profileId = compute.profile_id,
                     .placement = {compute.start, compute.slices}};
            return NVML_SUCCESS;
        });
}
// The oldest layout ends before the placement; what lies behind is the caller's.
nvmlReturn_t nvmlComputeInstanceGetInfo(nvmlComputeInstance_t instance,
                                        nvmlComputeInstanceInfo_t* info) {
    nvmlComputeInstanceInfo_t newer{};
    const auto result = nvmlComputeInstanceGetInfo_v2(instance, &newer);
    if (result != NVML_SUCCESS) return result;
    if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    info->device = newer.device;
    info->gpuInstance = newer.gpuInstance;
    info->id = newer.id;
    info->profileId = newer.profileId;
    return NVML_SUCCESS;
}

}  // extern "C"
