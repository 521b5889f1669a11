// SPDX-License-Identifier: Apache-2.0
//
// Multi-instance GPU, as a driver answers while the mode is off: no instance exists, so no handle
// of one is valid.
#include "sim/nvml/library.h"

using namespace aliquot::sim;

namespace {

/// A call that needs the mode to be on.
nvmlReturn_t mode_is_off(nvmlDevice_t device) {
    return with_gpu(device, [](const Gpu&) { return NVML_ERROR_NOT_SUPPORTED; });
}

/// A call on an instance.
nvmlReturn_t no_such_instance() {
    return Session::current() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int* current,
                                  unsigned int* pending) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (current == nullptr || pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->mig_devices == 0) return NVML_ERROR_NOT_SUPPORTED;
        *current = gpu.state.mig_current;
        *pending = gpu.state.mig_pending;
        return NVML_SUCCESS;
    });
}
// Switching the mode off is done at once; switching it on is refused, as in most virtual machines.
nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned int mode,
                                  nvmlReturn_t* activation) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (activation == nullptr || mode > NVML_DEVICE_MIG_ENABLE)
            return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->mig_devices == 0 || mode == NVML_DEVICE_MIG_ENABLE)
            return NVML_ERROR_NOT_SUPPORTED;
        *activation = NVML_SUCCESS;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int* count) {
    return tell(device, count, [](const Gpu& gpu) { return gpu.model->mig_devices; });
}
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int* isMig) {
    return tell(device, isMig, [](const Gpu&) { return 0; });
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                                 nvmlDevice_t* migDevice) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (migDevice == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->mig_devices == 0) return NVML_ERROR_NOT_SUPPORTED;
        return index < gpu.model->mig_devices ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
    });
}
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t migDevice,
                                                          nvmlDevice_t* /*device*/) {
    return with_gpu(migDevice, [](const Gpu&) { return NVML_ERROR_INVALID_ARGUMENT; });
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int* /*id*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int* /*id*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t* /*attributes*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device,
                                        nvmlDeviceAttributes_t* /*attributes*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int /*profile*/,
                                                 nvmlGpuInstanceProfileInfo_t* /*info*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned int /*profile*/,
                                                  nvmlGpuInstanceProfileInfo_v2_t* /*info*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t device,
                                                      unsigned int /*profileId*/,
                                                      nvmlGpuInstanceProfileInfo_v2_t* /*info*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t device,
                                                        unsigned int /*profileId*/,
                                                        nvmlGpuInstancePlacement_t* /*placements*/,
                                                        unsigned int* /*count*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(
    nvmlDevice_t device, unsigned int /*profileId*/, nvmlGpuInstancePlacement_t* /*placements*/,
    unsigned int* /*count*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device,
                                                       unsigned int /*profileId*/,
                                                       unsigned int* /*count*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned int /*profileId*/,
                                         nvmlGpuInstance_t* /*instance*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(
    nvmlDevice_t device, unsigned int /*profileId*/,
    const nvmlGpuInstancePlacement_t* /*placement*/, nvmlGpuInstance_t* /*instance*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int /*profileId*/,
                                       nvmlGpuInstance_t* /*instances*/, unsigned int* /*count*/) {
    return mode_is_off(device);
}
nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int /*id*/,
                                          nvmlGpuInstance_t* /*instance*/) {
    return mode_is_off(device);
}

nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t /*instance*/) { return no_such_instance(); }
nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t /*instance*/,
                                    nvmlGpuInstanceInfo_t* /*info*/) {
    return no_such_instance();
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(
    nvmlGpuInstance_t /*instance*/, unsigned int /*profile*/, unsigned int /*engineProfile*/,
    nvmlComputeInstanceProfileInfo_t* /*info*/) {
    return no_such_instance();
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(
    nvmlGpuInstance_t /*instance*/, unsigned int /*profile*/, unsigned int /*engineProfile*/,
    nvmlComputeInstanceProfileInfo_v2_t* /*info*/) {
    return no_such_instance();
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t /*instance*/,
                                                                unsigned int /*profileId*/,
                                                                unsigned int* /*count*/) {
    return no_such_instance();
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(
    nvmlGpuInstance_t /*instance*/, unsigned int /*profileId*/,
    nvmlComputeInstancePlacement_t* /*placements*/, unsigned int* /*count*/) {
    return no_such_instance();
}
nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t /*instance*/,
                                                  unsigned int /*profileId*/,
                                                  nvmlComputeInstance_t* /*computeInstance*/) {
    return no_such_instance();
}
nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(
    nvmlGpuInstance_t /*instance*/, unsigned int /*profileId*/,
    const nvmlComputeInstancePlacement_t* /*placement*/,
    nvmlComputeInstance_t* /*computeInstance*/) {
    return no_such_instance();
}
nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t /*instance*/) {
    return no_such_instance();
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t /*instance*/,
                                                unsigned int /*profileId*/,
                                                nvmlComputeInstance_t* /*instances*/,
                                                unsigned int* /*count*/) {
    return no_such_instance();
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t /*instance*/,
                                                   unsigned int /*id*/,
                                                   nvmlComputeInstance_t* /*computeInstance*/) {
    return no_such_instance();
}
nvmlReturn_t nvmlComputeInstanceGetInfo(nvmlComputeInstance_t /*instance*/,
                                        nvmlComputeInstanceInfo_t* /*info*/) {
    return no_such_instance();
}
nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t /*instance*/,
                                           nvmlComputeInstanceInfo_t* /*info*/) {
    return no_such_instance();
}

}  // extern "C"
