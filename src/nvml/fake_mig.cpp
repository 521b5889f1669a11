// SPDX-License-Identifier: Apache-2.0
//
// MIG of the test-only libnvidia-ml.so.1: three profiles and one that is newer than everybody. It
// refuses only what it is told to refuse and what overlaps.
#include <cstdio>
#include <cstring>

#include "abi/nvml.h"
#include "nvml/fake_library.h"

using aliquot::nvml::fake::ComputeInstance;
using aliquot::nvml::fake::Control;
using aliquot::nvml::fake::GpuInstance;
using aliquot::nvml::fake::kMigGpu;
using aliquot::nvml::fake::Mig;

extern "C" {
Control* fake_control();
nvmlDevice_t fake_handle(unsigned index);
}

namespace {

constexpr unsigned kInstances = 4;
constexpr unsigned kComputes = 3;
constexpr unsigned kDevices = kInstances * kComputes;

struct Profile {
    unsigned kind;
    unsigned id;
    unsigned slices;
    unsigned most;
    unsigned memory_mib;
    unsigned size;
    const char* name;
};
constexpr std::array<Profile, 4> kProfiles{{{0, 19, 1, 4, 2048, 1, "MIG 1g.2gb"},
                                            {7, 20, 1, 1, 2048, 1, "MIG 1g.2gb+me"},
                                            {2, 9, 3, 1, 8192, 4, "MIG 3g.8gb"},
                                            {18, 40, 1, 1, 4096, 2, "MIG 1g.4gb+new"}}};
// What an A30 says of its profile 5, which is 2g.
constexpr Profile kA30Wrong{1, 5, 3, 9, 2048, 7, "MIG 3g.2gb"};

Mig& mig() { return fake_control()->mig; }

/// Handles are places in an array that nobody looks into.
std::array<char, 3 * kDevices> places{};
template <class Handle>
Handle handle_of(unsigned kind, unsigned number) {
    return reinterpret_cast<Handle>(&places.at(kind * kDevices + number));
}
template <class Handle>
unsigned number_of(unsigned kind, Handle handle) {
    const auto* const place = reinterpret_cast<const char*>(handle);
    const auto offset = static_cast<std::size_t>(place - places.data());
    return offset / kDevices == kind ? static_cast<unsigned>(offset % kDevices) : ~0U;
}
constexpr unsigned kMigDevice = 0;
constexpr unsigned kGpuInstance = 1;
constexpr unsigned kComputeInstance = 2;

ComputeInstance* compute_at(unsigned number) {
    if (number >= kDevices) return nullptr;
    GpuInstance& instance = mig().instances.at(number / kComputes);
    ComputeInstance& compute = instance.compute.at(number % kComputes);
    return instance.exists && compute.exists ? &compute : nullptr;
}

GpuInstance* instance_of(nvmlGpuInstance_t handle) {
    const unsigned number = number_of(kGpuInstance, handle);
    if (number >= kInstances || !mig().instances.at(number).exists) return nullptr;
    return &mig().instances.at(number);
}

bool is_mig_gpu(nvmlDevice_t device) { return device == fake_handle(kMigGpu); }

const Profile* profile_of(unsigned id) {
    if (mig().a30) return id == kA30Wrong.id ? &kA30Wrong : nullptr;
    for (const Profile& profile : kProfiles) {
        if (profile.id == id) return &profile;
    }
    return nullptr;
}

const Profile* profile_of_kind(unsigned kind) {
    if (mig().a30) return kind == kA30Wrong.kind ? &kA30Wrong : nullptr;
    for (const Profile& profile : kProfiles) {
        if (profile.kind == kind) return &profile;
    }
    return nullptr;
}

template <class Info>
nvmlReturn_t fill(nvmlDevice_t device, unsigned kind, Info* info) {
    if (kind > 18) return NVML_ERROR_INVALID_ARGUMENT;
    const Profile* const profile = profile_of_kind(kind);
    if (!is_mig_gpu(device) || profile == nullptr) return NVML_ERROR_NOT_SUPPORTED;
    info->id = profile->id;
    info->sliceCount = profile->slices;
    info->instanceCount = profile->most;
    info->memorySizeMB = profile->memory_mib;
    info->multiprocessorCount = profile->slices * 14;
    return NVML_SUCCESS;
}

}  // namespace

bool fake_mig_uuid(nvmlDevice_t device, char* uuid, unsigned length) {
    const unsigned number = number_of(kMigDevice, device);
    if (number >= kDevices) return false;
    std::snprintf(uuid, length, "MIG-%u-%u", number / kComputes, number % kComputes);
    return true;
}

bool fake_mig_name(nvmlDevice_t device, char* name, unsigned length) {
    const unsigned number = number_of(kMigDevice, device);
    if (number >= kDevices) return false;
    std::snprintf(name, length, "NVIDIA A2 MIG 1c.3g.8gb");
    return true;
}

unsigned fake_mig_processes(nvmlProcessInfo_t* entries) {
    unsigned count = 0;
    for (unsigned number = 0; number < kDevices; ++number) {
        const ComputeInstance* const compute = compute_at(number);
        if (compute == nullptr || compute->process == 0) continue;
        entries[count] = {};
        entries[count].pid = compute->process;
        entries[count].gpuInstanceId = number / kComputes;
        entries[count++].computeInstanceId = number % kComputes;
    }
    return count;
}

extern "C" {

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
    if (!is_mig_gpu(device)) return NVML_ERROR_NOT_SUPPORTED;
    *current = mig().current;
    *pending = mig().pending;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned mode, nvmlReturn_t* activation) {
    if (!is_mig_gpu(device)) return NVML_ERROR_NOT_SUPPORTED;
    if (mig().set_error != 0) return mig().set_error;
    mig().pending = mode;
    *activation = mig().activation;
    if (mig().activation == 0) mig().current = mode;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count) {
    *count = is_mig_gpu(device) ? kDevices : 0;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t /*device*/, unsigned index,
                                                 nvmlDevice_t* device) {
    if (compute_at(index) == nullptr) return NVML_ERROR_NOT_FOUND;
    *device = handle_of<nvmlDevice_t>(kMigDevice, index);
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned* id) {
    *id = number_of(kMigDevice, device) / kComputes;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned* id) {
    *id = number_of(kMigDevice, device) % kComputes;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
    const unsigned number = number_of(kMigDevice, device);
    const Profile* const profile = profile_of(mig().instances.at(number / kComputes).profile_id);
    if (profile == nullptr) return NVML_ERROR_NOT_SUPPORTED;
    *attributes = {};
    attributes->multiprocessorCount = 14 * compute_at(number)->slices;
    attributes->sharedCopyEngineCount = 1;
    attributes->gpuInstanceSliceCount = profile->slices;
    attributes->computeInstanceSliceCount = compute_at(number)->slices;
    attributes->memorySizeMB = profile->memory_mib;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned kind,
                                                 nvmlGpuInstanceProfileInfo_t* info) {
    return fill(device, kind, info);
}
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned kind,
                                                  nvmlGpuInstanceProfileInfo_v2_t* info) {
    if (!mig().names || info->version != nvmlGpuInstanceProfileInfo_v2) {
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    const auto code = fill(device, kind, info);
    if (code == NVML_SUCCESS) {
        std::snprintf(info->name, sizeof info->name, "%s", profile_of_kind(kind)->name);
    }
    return code;
}
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t /*device*/, unsigned id,
                                                           nvmlGpuInstancePlacement_t* places_out,
                                                           unsigned* count) {
    const Profile* const profile = profile_of(id);
    if (profile == nullptr) return NVML_ERROR_NOT_SUPPORTED;
    const unsigned found = 4 / profile->size + (profile->size == 7 ? 1 : 0);
    if (places_out != nullptr && *count < found) return NVML_ERROR_INSUFFICIENT_SIZE;
    *count = found;
    if (places_out == nullptr) return NVML_SUCCESS;
    for (unsigned i = 0; i < found; ++i) {  // the last one first
        places_out[i] = {(found - 1 - i) * profile->size, profile->size};
    }
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned id,
                                                      const nvmlGpuInstancePlacement_t* place,
                                                      nvmlGpuInstance_t* made) {
    if (!is_mig_gpu(device) || profile_of(id) == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    for (const GpuInstance& other : mig().instances) {
        if (other.exists && place->start < other.start + other.size &&
            other.start < place->start + place->size) {
            return NVML_ERROR_INSUFFICIENT_RESOURCES;
        }
    }
    for (unsigned number = 0; number < kInstances; ++number) {
        GpuInstance& instance = mig().instances.at(number);
        if (instance.exists) continue;
        instance = {true, id, place->start, place->size, {}};
        *made = handle_of<nvmlGpuInstance_t>(kGpuInstance, number);
        return NVML_SUCCESS;
    }
    return NVML_ERROR_INSUFFICIENT_RESOURCES;
}
nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t /*device*/, unsigned id,
                                       nvmlGpuInstance_t* instances, unsigned* count) {
    *count = 0;
    for (unsigned number = 0; number < kInstances; ++number) {
        const GpuInstance& instance = mig().instances.at(number);
        if (!instance.exists || instance.profile_id != id) continue;
        instances[(*count)++] = handle_of<nvmlGpuInstance_t>(kGpuInstance, number);
    }
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t /*device*/, unsigned id,
                                          nvmlGpuInstance_t* instance) {
    if (mig().instances_hidden) return NVML_ERROR_NO_PERMISSION;
    *instance = handle_of<nvmlGpuInstance_t>(kGpuInstance, id);
    return id < kInstances && instance_of(*instance) != nullptr ? NVML_SUCCESS
                                                                : NVML_ERROR_NOT_FOUND;
}
nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t handle, nvmlGpuInstanceInfo_t* info) {
    const GpuInstance* const instance = instance_of(handle);
    if (instance == nullptr) return NVML_ERROR_NOT_FOUND;
    *info = {fake_handle(kMigGpu),
             number_of(kGpuInstance, handle),
             instance->profile_id,
             {instance->start, instance->size}};
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t handle) {
    GpuInstance* const instance = instance_of(handle);
    if (instance == nullptr) return NVML_ERROR_NOT_FOUND;
    if (mig().destroy_error != 0) return mig().destroy_error;
    for (const ComputeInstance& compute : instance->compute) {
        if (compute.exists) return NVML_ERROR_IN_USE;
    }
    instance->exists = false;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t handle, unsigned kind,
                                                          unsigned /*engine*/,
                                                          nvmlComputeInstanceProfileInfo_t* info) {
    const GpuInstance* const instance = instance_of(handle);
    const Profile* const profile = instance == nullptr ? nullptr : profile_of(instance->profile_id);
    if (profile == nullptr || kind >= profile->slices) return NVML_ERROR_NOT_SUPPORTED;
    *info = {};
    info->id = kind;
    info->sliceCount = kind + 1;
    info->instanceCount = profile->slices / (kind + 1);
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t handle, unsigned id,
                                                  nvmlComputeInstance_t* made) {
    GpuInstance* const instance = instance_of(handle);
    if (instance == nullptr) return NVML_ERROR_NOT_FOUND;
    for (unsigned i = 0; i < kComputes; ++i) {
        if (instance->compute.at(i).exists) continue;
        instance->compute.at(i) = {true, id + 1, 0};
        *made = handle_of<nvmlComputeInstance_t>(kComputeInstance,
                                                 number_of(kGpuInstance, handle) * kComputes + i);
        return NVML_SUCCESS;
    }
    return NVML_ERROR_INSUFFICIENT_RESOURCES;
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t handle, unsigned id,
                                                nvmlComputeInstance_t* computes, unsigned* count) {
    const GpuInstance* const instance = instance_of(handle);
    *count = 0;
    if (instance == nullptr) return NVML_ERROR_NOT_FOUND;
    for (unsigned i = 0; i < kComputes; ++i) {
        if (!instance->compute.at(i).exists || instance->compute.at(i).slices != id + 1) continue;
        computes[(*count)++] = handle_of<nvmlComputeInstance_t>(
            kComputeInstance, number_of(kGpuInstance, handle) * kComputes + i);
    }
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t handle, unsigned id,
                                                   nvmlComputeInstance_t* compute) {
    const unsigned number = number_of(kGpuInstance, handle) * kComputes + id;
    if (id >= kComputes || compute_at(number) == nullptr) return NVML_ERROR_NOT_FOUND;
    *compute = handle_of<nvmlComputeInstance_t>(kComputeInstance, number);
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t handle,
                                           nvmlComputeInstanceInfo_t* info) {
    const unsigned number = number_of(kComputeInstance, handle);
    const ComputeInstance* const compute = compute_at(number);
    if (compute == nullptr) return NVML_ERROR_NOT_FOUND;
    *info = {fake_handle(kMigGpu),
             handle_of<nvmlGpuInstance_t>(kGpuInstance, number / kComputes),
             number % kComputes,
             compute->slices - 1,
             {0, compute->slices}};
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t handle) {
    ComputeInstance* const compute = compute_at(number_of(kComputeInstance, handle));
    if (compute == nullptr) return NVML_ERROR_NOT_FOUND;
    if (compute->process != 0) return NVML_ERROR_IN_USE;
    compute->exists = false;
    return NVML_SUCCESS;
}
}
