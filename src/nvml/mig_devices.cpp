// SPDX-License-Identifier: Apache-2.0
#include "nvml/mig_devices.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/mig_profile.h"
#include "nvml/mig_profiles.h"

namespace aliquot::nvml {
namespace {

constexpr unsigned kMigDeviceLimit = 64;

/// "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb" holds the profile as the driver names it.
std::string profile_in(const Answer<std::string>& name) {
    constexpr std::string_view kMark = " MIG ";
    const auto place = name.ok() ? name.value.rfind(kMark) : std::string::npos;
    if (place == std::string::npos) return {};
    const auto profile =
        gpu::parse_mig_profile(std::string_view(name.value).substr(place + kMark.size()));
    return profile ? gpu::to_text(*profile) : std::string{};
}

/// Which GPU instance a MIG device lies in; empty when that may not be asked.
std::optional<nvmlGpuInstanceInfo_t> instance_of(const Library& library, nvmlDevice_t device,
                                                 unsigned gpu_instance) {
    nvmlGpuInstance_t instance = nullptr;
    nvmlGpuInstanceInfo_t info{};
    const Functions& nvml = library.nvml();
    if (nvml.nvmlDeviceGetGpuInstanceById(device, gpu_instance, &instance) != NVML_SUCCESS ||
        nvml.nvmlGpuInstanceGetInfo(instance, &info) != NVML_SUCCESS) {
        return std::nullopt;
    }
    return info;
}

std::string compute_prefix(const gpu::MigDevice& device) {
    const bool part = device.compute_slices != 0 && device.compute_slices < device.gpu_slices;
    return part ? std::to_string(device.compute_slices) + "c." : std::string{};
}

void read_attributes(const Library& library, nvmlDevice_t handle, gpu::MigDevice& device) {
    const auto told = library.attributes(handle);
    if (!told.ok()) return;
    device.memory_bytes = told.value.memorySizeMB << 20U;
    device.gpu_slices = told.value.gpuInstanceSliceCount;
    device.compute_slices = told.value.computeInstanceSliceCount;
    device.multiprocessors = told.value.multiprocessorCount;
    device.copy_engines = told.value.sharedCopyEngineCount;
    device.decoders = told.value.sharedDecoderCount;
    device.encoders = told.value.sharedEncoderCount;
    device.jpeg_engines = told.value.sharedJpegCount;
    device.optical_flow_engines = told.value.sharedOfaCount;
}

/// Names the device and finds its place; false: it can be neither named nor offered.
bool name_device(const Library& library, nvmlDevice_t parent, const MigHandle& from,
                 const std::vector<gpu::MigProfile>& profiles, gpu::MigDevice& device) {
    const auto instance = instance_of(library, parent, from.gpu_instance);
    if (instance) {
        device.placement = {instance->placement.start, instance->placement.size};
        const auto profile = std::ranges::find(profiles, instance->profileId, &gpu::MigProfile::id);
        if (profile != profiles.end()) {
            device.gpu_slices = profile->slices;
            if (device.memory_bytes == 0) device.memory_bytes = profile->memory_mib << 20U;
            device.profile = compute_prefix(device) + profile->name;
            return true;
        }
    }
    device.profile = profile_in(library.name(from.handle));
    return !device.profile.empty();
}

}  // namespace

Answer<std::vector<MigHandle>> read_mig_handles(const Library& library, nvmlDevice_t device) {
    Answer<std::vector<MigHandle>> answer;
    const Functions& nvml = library.nvml();
    unsigned most = 0;
    answer.code = nvml.nvmlDeviceGetMaxMigDeviceCount(device, &most);
    if (!answer.ok()) return answer;
    for (unsigned index = 0; index < std::min(most, kMigDeviceLimit); ++index) {
        MigHandle found{.index = index};
        auto code = nvml.nvmlDeviceGetMigDeviceHandleByIndex(device, index, &found.handle);
        if (code == NVML_SUCCESS) {
            code = nvml.nvmlDeviceGetGpuInstanceId(found.handle, &found.gpu_instance);
        }
        if (code == NVML_SUCCESS) {
            code = nvml.nvmlDeviceGetComputeInstanceId(found.handle, &found.compute_instance);
        }
        if (code == NVML_SUCCESS) answer.value.push_back(found);
        if (code != NVML_SUCCESS && !is_not_reported(code)) {  // gaps are "not found"
            answer.code = code;
            return answer;
        }
    }
    return answer;
}

Answer<std::vector<gpu::MigDevice>> read_mig_devices(const Library& library,
                                                     const MigMinors& minors, nvmlDevice_t device,
                                                     const gpu::Gpu& gpu, KnownProfiles& known) {
    Answer<std::vector<gpu::MigDevice>> answer;
    const auto handles = read_mig_handles(library, device);
    answer.code = handles.code;
    if (!handles.ok() || handles.value.empty()) return answer;
    // A driver that does not tell its profiles leaves the names to the handles.
    const auto profiles = gpu_profiles(
        library,
        {.device = device, .pci_device_id = gpu.pci_device_id, .memory_bytes = gpu.memory_bytes},
        known);
    for (const MigHandle& from : handles.value) {
        gpu::MigDevice made{.index = from.index,
                            .gpu_instance = from.gpu_instance,
                            .compute_instance = from.compute_instance};
        const auto uuid = library.uuid(from.handle);
        if (!uuid.ok()) {
            if (is_not_reported(uuid.code)) continue;
            answer.code = uuid.code;
            return answer;
        }
        made.uuid.text = uuid.value;
        read_attributes(library, from.handle, made);
        if (!name_device(library, device, from, profiles.value, made)) continue;
        made.gpu_instance_cap = minors.of(gpu.minor, made.gpu_instance);
        made.compute_instance_cap = minors.of(gpu.minor, made.gpu_instance, made.compute_instance);
        answer.value.push_back(std::move(made));
    }
    return answer;
}

}  // namespace aliquot::nvml
