// SPDX-License-Identifier: Apache-2.0
//
// Multi-instance GPU: the mode, and MIG devices (a compute instance seen as a device of its own).
#include "sim/nvml/instances.h"

using namespace aliquot::sim;

namespace {

/// The MIG devices of a GPU that this process may see. An administrator counts them as the driver
/// does, with gaps; who was given some counts those.
std::optional<Instance> device_at(const Session& session, const Gpu& gpu, const State& state,
                                  unsigned index) {
    unsigned seen = 0;
    for (const Instance& device : mig_devices(state, gpu.slot)) {
        const auto& compute = *find_compute_instance(state, gpu.slot, device);
        if (!session.restricted(gpu.index)) {
            if (compute.device_index == index) return device;
        } else if (session.sees(gpu.index, compute.uuid.view()) && seen++ == index) {
            return device;
        }
    }
    return std::nullopt;
}

/// A number that only MIG devices have.
nvmlReturn_t tell_of_device(nvmlDevice_t device, unsigned* result,
                            unsigned (*answer)(const MigDevice&)) {
    return with_device(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (!gpu.device) return NVML_ERROR_NOT_SUPPORTED;
        if (result == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *result = answer(*gpu.device);
        return NVML_SUCCESS;
    });
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
nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned int mode,
                                  nvmlReturn_t* activation) {
    return with_state_of(device, [&](const Gpu& gpu, State& state) -> nvmlReturn_t {
        if (activation == nullptr || mode > NVML_DEVICE_MIG_ENABLE)
            return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->mig_devices == 0) return NVML_ERROR_NOT_SUPPORTED;
        if (Session::current()->restricted(gpu.index)) return NVML_ERROR_NO_PERMISSION;
        *activation = answer_for(set_mig_mode(state, gpu.slot, mode == NVML_DEVICE_MIG_ENABLE));
        note_change(state);
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int* count) {
    return tell(device, count, [](const Gpu& gpu) { return gpu.model->mig_devices; });
}
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int* isMig) {
    return with_device(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (isMig == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *isMig = gpu.device ? 1 : 0;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                                 nvmlDevice_t* migDevice) {
    return with_state_of(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        if (migDevice == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->mig_devices == 0) return NVML_ERROR_NOT_SUPPORTED;
        if (index >= gpu.model->mig_devices) return NVML_ERROR_INVALID_ARGUMENT;
        const auto found = device_at(*Session::current(), gpu, state, index);
        if (!found) return NVML_ERROR_NOT_FOUND;
        *migDevice = device_handle(state, gpu.slot, *found);
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t migDevice,
                                                          nvmlDevice_t* device) {
    return with_device(migDevice, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (!gpu.device || device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *device = Session::handle_of(gpu.index);
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int* id) {
    return tell_of_device(device, id,
                          [](const MigDevice& mig) { return mig.instance.gpu_instance; });
}
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int* id) {
    return tell_of_device(device, id,
                          [](const MigDevice& mig) { return mig.instance.compute_instance; });
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
    return with_device(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (!gpu.device) return NVML_ERROR_NOT_SUPPORTED;
        if (attributes == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        const GpuProfile& profile = *gpu.device->profile;
        const auto compute = compute_profile(*gpu.model, profile, gpu.device->compute.profile_id);
        *attributes = {.multiprocessorCount = compute.multiprocessors,
                       .sharedCopyEngineCount = profile.copy_engines,
                       .sharedDecoderCount = profile.decoders,
                       .sharedEncoderCount = 0,
                       .sharedJpegCount = profile.jpegs,
                       .sharedOfaCount = profile.flows,
                       .gpuInstanceSliceCount = profile.slices,
                       .computeInstanceSliceCount = gpu.device->compute.slices,
                       .memorySizeMB = profile.memory_mib};
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
    return nvmlDeviceGetAttributes_v2(device, attributes);
}

}  // extern "C"
