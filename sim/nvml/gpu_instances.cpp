// SPDX-License-Identifier: Apache-2.0
//
// GPU instances: what could be cut out of a GPU, what is, and cutting it.
#include <algorithm>
#include <bit>
#include <string>

#include "sim/nvml/instances.h"

using namespace aliquot::sim;

namespace {

bool tells_profiles(const Gpu& gpu) {
    const auto session = Session::current();
    return gpu.model->mig_devices > 0 &&
           (gpu.mig() || (session && session->tells_profiles_always()));
}

template <class Info>
void fill(Info& info, const GpuProfile& profile) {
    info.id = profile.id;
    info.sliceCount = profile.slices;
    info.instanceCount = profile.most;
    info.multiprocessorCount = profile.multiprocessors;
    info.copyEngineCount = profile.copy_engines;
    info.decoderCount = profile.decoders;
    info.encoderCount = 0;
    info.jpegCount = profile.jpegs;
    info.ofaCount = profile.flows;
    info.memorySizeMB = profile.memory_mib;
}

template <class Info>
nvmlReturn_t fill_versioned(void* to, const GpuProfile& profile) {
    auto& info = *static_cast<Info*>(to);
    const auto version = info.version;
    info = {};
    info.version = version;
    fill(info, profile);
    return copy_text("MIG " + std::string(profile.name), info.name, sizeof info.name);
}

/// v2 and v3 of the struct begin with the version that tells which one it is.
nvmlReturn_t tell_profile(nvmlGpuInstanceProfileInfo_v2_t* info, const GpuProfile& profile) {
    if (info->version == nvmlGpuInstanceProfileInfo_v2) {
        return fill_versioned<nvmlGpuInstanceProfileInfo_v2_t>(info, profile);
    }
    if (info->version == nvmlGpuInstanceProfileInfo_v3) {
        return fill_versioned<nvmlGpuInstanceProfileInfo_v3_t>(info, profile);
    }
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
}

/// The profile of one of the info calls, or why there is none.
nvmlReturn_t profile_at(const Gpu& gpu, unsigned index, const void* info,
                        const GpuProfile** profile) {
    if (info == nullptr || index >= NVML_GPU_INSTANCE_PROFILE_COUNT) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (!tells_profiles(gpu)) return NVML_ERROR_NOT_SUPPORTED;
    *profile = find_gpu_profile_by_index(*gpu.model, index);
    return *profile == nullptr ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

/// room   entries that fit into `placements`, where the caller tells
nvmlReturn_t list_placements(nvmlDevice_t device, unsigned profile_id,
                             nvmlGpuInstancePlacement_t* placements, unsigned* count, bool room) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (!tells_profiles(gpu)) return NVML_ERROR_NOT_SUPPORTED;
        const auto* const profile = find_gpu_profile(*gpu.model, profile_id);
        if (profile == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        const unsigned needed = profile->placement_count();
        const unsigned has = *count;
        *count = needed;
        if (placements == nullptr) return room ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
        if (room && has < needed) return NVML_ERROR_INSUFFICIENT_SIZE;
        for (unsigned start = 0; start < memory_slices(*gpu.model); ++start) {
            if (profile->starts_at(start)) *placements++ = {start, profile->size};
        }
        return NVML_SUCCESS;
    });
}

nvmlReturn_t create(nvmlDevice_t device, unsigned profile_id,
                    const nvmlGpuInstancePlacement_t* placement, nvmlGpuInstance_t* instance) {
    return with_mig_gpu(device, [&](const Gpu& gpu, State& state) -> nvmlReturn_t {
        if (instance == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        std::optional<unsigned> start;
        if (placement != nullptr) {
            const auto* const profile = find_gpu_profile(*gpu.model, profile_id);
            if (profile == nullptr || placement->size != profile->size) {
                return NVML_ERROR_INVALID_ARGUMENT;
            }
            start = placement->start;
        }
        const auto made = create_gpu_instance(state, gpu.slot, profile_id, start);
        if (made.answer != MigAnswer::kDone) return answer_for(made.answer);
        *instance = gpu_instance_handle(state, gpu.slot, made.id);
        note_change(state);
        return NVML_SUCCESS;
    });
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int index,
                                                 nvmlGpuInstanceProfileInfo_t* info) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        const GpuProfile* profile = nullptr;
        const auto result = profile_at(gpu, index, info, &profile);
        if (result != NVML_SUCCESS) return result;
        *info = {};
        fill(*info, *profile);
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned int index,
                                                  nvmlGpuInstanceProfileInfo_v2_t* info) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        const GpuProfile* profile = nullptr;
        const auto result = profile_at(gpu, index, info, &profile);
        return result == NVML_SUCCESS ? tell_profile(info, *profile) : result;
    });
}
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t device, unsigned int profileId,
                                                      nvmlGpuInstanceProfileInfo_v2_t* info) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (!tells_profiles(gpu)) return NVML_ERROR_NOT_SUPPORTED;
        const auto* const profile = find_gpu_profile(*gpu.model, profileId);
        return profile == nullptr ? NVML_ERROR_INVALID_ARGUMENT : tell_profile(info, *profile);
    });
}

// The older call does not say how much room there is: the caller brings enough.
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t device, unsigned int profileId,
                                                        nvmlGpuInstancePlacement_t* placements,
                                                        unsigned int* count) {
    return list_placements(device, profileId, placements, count, false);
}
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device,
                                                           unsigned int profileId,
                                                           nvmlGpuInstancePlacement_t* placements,
                                                           unsigned int* count) {
    return list_placements(device, profileId, placements, count, true);
}
nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device, unsigned int profileId,
                                                       unsigned int* count) {
    return with_mig_gpu(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        const auto* const profile = find_gpu_profile(*gpu.model, profileId);
        if (count == nullptr || profile == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        // Places of one profile never overlap, so each free one can be filled.
        unsigned exist = 0;
        for (unsigned id = 0; id < kMaxGpuInstances; ++id) {
            if (find_gpu_instance(state, gpu.slot, id).profile == profile) ++exist;
        }
        const auto free =
            static_cast<unsigned>(std::popcount(free_starts(state, gpu.slot, *profile)));
        *count = std::min(free, profile->most - std::min(exist, profile->most));
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned int profileId,
                                         nvmlGpuInstance_t* instance) {
    return create(device, profileId, nullptr, instance);
}
nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned int profileId,
                                                      const nvmlGpuInstancePlacement_t* placement,
                                                      nvmlGpuInstance_t* instance) {
    if (placement == nullptr && Session::current()) return NVML_ERROR_INVALID_ARGUMENT;
    return create(device, profileId, placement, instance);
}
nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t instance) {
    return with_gpu_instance(
        instance, [&](const Gpu& gpu, State& state, const Instance& which) -> nvmlReturn_t {
            const auto answer = destroy_gpu_instance(state, gpu.slot, which.gpu_instance);
            if (answer == MigAnswer::kDone) note_change(state);
            return answer_for(answer);
        });
}

// `instances` has room for as many as the profile allows; `count` only tells.
nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int profileId,
                                       nvmlGpuInstance_t* instances, unsigned int* count) {
    return with_mig_gpu(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        const auto* const profile = find_gpu_profile(*gpu.model, profileId);
        if (profile == nullptr || instances == nullptr || count == nullptr) {
            return NVML_ERROR_INVALID_ARGUMENT;
        }
        *count = 0;
        for (unsigned id = 0; id < kMaxGpuInstances && *count < profile->most; ++id) {
            if (find_gpu_instance(state, gpu.slot, id).profile != profile) continue;
            instances[(*count)++] = gpu_instance_handle(state, gpu.slot, id);
        }
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id,
                                          nvmlGpuInstance_t* instance) {
    return with_mig_gpu(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        if (instance == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (!find_gpu_instance(state, gpu.slot, id)) return NVML_ERROR_NOT_FOUND;
        *instance = gpu_instance_handle(state, gpu.slot, id);
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t* info) {
    return with_gpu_instance(
        instance, [&](const Gpu& gpu, const State& state, const Instance& which) -> nvmlReturn_t {
            if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
            const auto found = find_gpu_instance(state, gpu.slot, which.gpu_instance);
            *info = {.device = Session::handle_of(gpu.index),
                     .id = which.gpu_instance,
                     .profileId = found.profile->id,
                     .placement = {found.state->start, found.state->size}};
            return NVML_SUCCESS;
        });
}

}  // extern "C"
