// SPDX-License-Identifier: Apache-2.0
#include "sim/smi/mig_instances.h"

#include <algorithm>

namespace aliquot::sim::smi {

bool in_mig_mode(const Gpu& gpu) {
    const auto mode = gpu.mig_mode();
    return mode.ok() && mode.value.current != NVML_DEVICE_MIG_DISABLE;
}

std::vector<nvmlGpuInstanceProfileInfo_v2_t> instance_profiles(const Gpu& gpu) {
    std::vector<nvmlGpuInstanceProfileInfo_v2_t> profiles;
    for (unsigned index = 0; index < NVML_GPU_INSTANCE_PROFILE_COUNT; ++index) {
        nvmlGpuInstanceProfileInfo_v2_t info{.version = nvmlGpuInstanceProfileInfo_v2};
        if (SMI_CALL(gpu.library(), nvmlDeviceGetGpuInstanceProfileInfoV, gpu.handle(), index,
                     &info) == NVML_SUCCESS) {
            profiles.push_back(info);
        }
    }
    return profiles;
}

Reading<std::vector<GpuInstance>> gpu_instances(const Gpu& gpu) {
    Reading<std::vector<GpuInstance>> reading{.code = NVML_SUCCESS};
    for (const auto& profile : instance_profiles(gpu)) {
        std::vector<nvmlGpuInstance_t> handles(profile.instanceCount);
        unsigned count = 0;
        reading.code = SMI_CALL(gpu.library(), nvmlDeviceGetGpuInstances, gpu.handle(), profile.id,
                                handles.data(), &count);
        if (!reading.ok()) return reading;
        for (unsigned i = 0; i < std::min(count, profile.instanceCount); ++i) {
            GpuInstance instance{.handle = handles[i], .profile = profile};
            const auto code =
                SMI_CALL(gpu.library(), nvmlGpuInstanceGetInfo, handles[i], &instance.info);
            if (code == NVML_SUCCESS) reading.value.push_back(instance);
        }
    }
    return reading;
}

std::vector<nvmlComputeInstanceProfileInfo_v2_t> compute_profiles(const Gpu& gpu,
                                                                  nvmlGpuInstance_t instance) {
    std::vector<nvmlComputeInstanceProfileInfo_v2_t> profiles;
    for (unsigned index = 0; index < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; ++index) {
        nvmlComputeInstanceProfileInfo_v2_t info{.version = nvmlComputeInstanceProfileInfo_v2};
        constexpr unsigned kShared = NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED;
        if (SMI_CALL(gpu.library(), nvmlGpuInstanceGetComputeInstanceProfileInfoV, instance, index,
                     kShared, &info) == NVML_SUCCESS) {
            profiles.push_back(info);
        }
    }
    return profiles;
}

std::vector<ComputeInstance> compute_instances(const Gpu& gpu, nvmlGpuInstance_t instance) {
    std::vector<ComputeInstance> found;
    for (const auto& profile : compute_profiles(gpu, instance)) {
        std::vector<nvmlComputeInstance_t> handles(profile.instanceCount);
        unsigned count = 0;
        if (SMI_CALL(gpu.library(), nvmlGpuInstanceGetComputeInstances, instance, profile.id,
                     handles.data(), &count) != NVML_SUCCESS) {
            continue;
        }
        for (unsigned i = 0; i < std::min(count, profile.instanceCount); ++i) {
            ComputeInstance one{.handle = handles[i], .profile = profile.name};
            const auto code =
                SMI_CALL(gpu.library(), nvmlComputeInstanceGetInfo_v2, handles[i], &one.info);
            if (code == NVML_SUCCESS) found.push_back(one);
        }
    }
    std::ranges::sort(found, {}, [](const ComputeInstance& one) { return one.info.id; });
    return found;
}

bool is_meant(const std::vector<unsigned>& ids, unsigned id) {
    return ids.empty() || std::ranges::find(ids, id) != ids.end();
}

}  // namespace aliquot::sim::smi
