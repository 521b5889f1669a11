// SPDX-License-Identifier: Apache-2.0
//
// Small facts that diagnostics and monitors ask for: firmware, InfoROM, video sessions, states.
#include <algorithm>
#include <array>
#include <string>

#include "sim/nvml/library.h"

using namespace aliquot::sim;

namespace {

constexpr unsigned kInforomObjects = 4;  // OEM, ECC, power, DRAM encryption
constexpr unsigned kRestrictableCalls = 2;

/// A list that is always empty.
nvmlReturn_t list_nothing(nvmlDevice_t device, unsigned* count) {
    return with_gpu(device, [&](const Gpu&) { return begin_list(count, nullptr, 0); });
}

/// Data centre boards carry an InfoROM.
nvmlReturn_t tell_inforom(nvmlDevice_t device, std::string_view version, char* to,
                          unsigned length) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (gpu.model->geforce() || version.empty()) return NVML_ERROR_NOT_SUPPORTED;
        return copy_text(version, to, length);
    });
}

}  // namespace

extern "C" {

// What runs on the GPU's own processor, from Turing on.
nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char* version);
nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char* version) {
    return with_state_of(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        if (gpu.model->architecture < NVML_DEVICE_ARCH_TURING) return NVML_ERROR_NOT_SUPPORTED;
        return copy_text(state.driver_version.view(), version,
                         NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE);
    });
}
nvmlReturn_t nvmlDeviceGetGspFirmwareMode(nvmlDevice_t device, unsigned int* enabled,
                                          unsigned int* otherwise);
nvmlReturn_t nvmlDeviceGetGspFirmwareMode(nvmlDevice_t device, unsigned int* enabled,
                                          unsigned int* otherwise) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (enabled == nullptr || otherwise == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->architecture < NVML_DEVICE_ARCH_TURING) return NVML_ERROR_NOT_SUPPORTED;
        *enabled = *otherwise = 1;
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t device, unsigned int object, char* version,
                                         unsigned int length);
nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t device, unsigned int object, char* version,
                                         unsigned int length) {
    constexpr std::array<std::string_view, kInforomObjects> kVersions = {"2.0", "6.16", "", ""};
    if (object >= kInforomObjects) return NVML_ERROR_INVALID_ARGUMENT;
    return tell_inforom(device, kVersions[object], version, length);
}
nvmlReturn_t nvmlDeviceGetInforomImageVersion(nvmlDevice_t device, char* version,
                                              unsigned int length);
nvmlReturn_t nvmlDeviceGetInforomImageVersion(nvmlDevice_t device, char* version,
                                              unsigned int length) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (gpu.model->part_number.size() < 13) return NVML_ERROR_NOT_SUPPORTED;
        // As NVIDIA numbers them: "G" and board, then a version.
        return copy_text(std::string(gpu.model->part_number.substr(5, 4)) + ".0200.00.05", version,
                         length);
    });
}
nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t device);
nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t device) {
    return with_gpu(device, [](const Gpu& gpu) {
        return gpu.model->geforce() ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetEncoderCapacity(nvmlDevice_t device, unsigned int codec,
                                          unsigned int* percent);
nvmlReturn_t nvmlDeviceGetEncoderCapacity(nvmlDevice_t device, unsigned int codec,
                                          unsigned int* percent) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (percent == nullptr || codec > 2) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->encoders == 0) return NVML_ERROR_NOT_SUPPORTED;
        *percent = 100;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetEncoderStats(nvmlDevice_t device, unsigned int* sessions,
                                       unsigned int* framesPerSecond, unsigned int* latency);
nvmlReturn_t nvmlDeviceGetEncoderStats(nvmlDevice_t device, unsigned int* sessions,
                                       unsigned int* framesPerSecond, unsigned int* latency) {
    return with_gpu(device, [&](const Gpu&) -> nvmlReturn_t {
        if (sessions == nullptr || framesPerSecond == nullptr || latency == nullptr) {
            return NVML_ERROR_INVALID_ARGUMENT;
        }
        *sessions = *framesPerSecond = *latency = 0;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetEncoderSessions(nvmlDevice_t device, unsigned int* count, void* infos);
nvmlReturn_t nvmlDeviceGetEncoderSessions(nvmlDevice_t device, unsigned int* count,
                                          void* /*infos*/) {
    return list_nothing(device, count);
}
nvmlReturn_t nvmlDeviceGetFBCStats(nvmlDevice_t device, unsigned int* stats);
nvmlReturn_t nvmlDeviceGetFBCStats(nvmlDevice_t device, unsigned int* stats) {
    return with_gpu(device, [&](const Gpu&) -> nvmlReturn_t {
        if (stats == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        std::fill_n(stats, 3, 0U);  // sessions, frames per second, latency
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetFBCSessions(nvmlDevice_t device, unsigned int* count, void* infos);
nvmlReturn_t nvmlDeviceGetFBCSessions(nvmlDevice_t device, unsigned int* count, void* /*infos*/) {
    return list_nothing(device, count);
}

nvmlReturn_t nvmlDeviceGetSupportedPerformanceStates(nvmlDevice_t device, nvmlPstates_t* states,
                                                     unsigned int bytes);
nvmlReturn_t nvmlDeviceGetSupportedPerformanceStates(nvmlDevice_t device, nvmlPstates_t* states,
                                                     unsigned int bytes) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        const auto room = static_cast<unsigned>(bytes / sizeof(nvmlPstates_t));
        if (states == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (room < 2) return NVML_ERROR_INSUFFICIENT_SIZE;
        std::fill_n(states, room, static_cast<nvmlPstates_t>(NVML_PSTATE_UNKNOWN));
        states[0] = 0;
        if (gpu.model->idle_state != 0) states[1] = gpu.model->idle_state;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetMinMaxClockOfPState(nvmlDevice_t device, nvmlClockType_t type,
                                              nvmlPstates_t state, unsigned int* lowest,
                                              unsigned int* highest);
nvmlReturn_t nvmlDeviceGetMinMaxClockOfPState(nvmlDevice_t device, nvmlClockType_t type,
                                              nvmlPstates_t state, unsigned int* lowest,
                                              unsigned int* highest) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        const Model& model = *gpu.model;
        if (lowest == nullptr || highest == nullptr || type > NVML_CLOCK_VIDEO) {
            return NVML_ERROR_INVALID_ARGUMENT;
        }
        if (state != 0 && state != model.idle_state) return NVML_ERROR_NOT_SUPPORTED;
        const bool awake = state == 0;
        if (type == NVML_CLOCK_MEM) {
            *lowest = *highest = awake ? model.memory_mhz : model.idle_memory_mhz;
        } else if (type == NVML_CLOCK_VIDEO) {
            *lowest = *highest = model.video_mhz;
        } else {
            *lowest = model.idle_graphics_mhz;
            *highest = awake ? model.graphics_mhz : model.idle_graphics_mhz;
        }
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetAdaptiveClockInfoStatus(nvmlDevice_t device, unsigned int* status);
nvmlReturn_t nvmlDeviceGetAdaptiveClockInfoStatus(nvmlDevice_t device, unsigned int* status) {
    return tell(device, status, [](const Gpu&) { return 1; });
}
nvmlReturn_t nvmlDeviceGetAPIRestriction(nvmlDevice_t device, unsigned int call,
                                         nvmlEnableState_t* restricted);
nvmlReturn_t nvmlDeviceGetAPIRestriction(nvmlDevice_t device, unsigned int call,
                                         nvmlEnableState_t* restricted) {
    if (call >= kRestrictableCalls) return NVML_ERROR_INVALID_ARGUMENT;
    return tell(device, restricted, [](const Gpu&) { return NVML_FEATURE_DISABLED; });
}

struct RepairStatus {
    unsigned version;
    unsigned channel_pending;
    unsigned tpc_pending;
};
nvmlReturn_t nvmlDeviceGetRepairStatus(nvmlDevice_t device, RepairStatus* status);
nvmlReturn_t nvmlDeviceGetRepairStatus(nvmlDevice_t device, RepairStatus* status) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (status == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (status->version != NVML_STRUCT_VERSION(sizeof(RepairStatus), 1)) {
            return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        }
        if (gpu.model->architecture < NVML_DEVICE_ARCH_HOPPER) return NVML_ERROR_NOT_SUPPORTED;
        status->channel_pending = status->tpc_pending = 0;
        return NVML_SUCCESS;
    });
}

/// Licences of virtual GPUs: an unlicensable machine has neither the feature nor a list.
static nvmlReturn_t tell_no_licence(nvmlDevice_t device, nvmlGridLicensableFeatures_t* features) {
    return with_gpu(device, [&](const Gpu&) -> nvmlReturn_t {
        if (features == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        features->isGridLicenseSupported = 0;  // all that older layouts have in common
        features->licensableFeaturesCount = 0;
        return NVML_SUCCESS;
    });
}
#define LICENCE_CALL(name)                                                           \
    nvmlReturn_t name(nvmlDevice_t device, nvmlGridLicensableFeatures_t* features);  \
    nvmlReturn_t name(nvmlDevice_t device, nvmlGridLicensableFeatures_t* features) { \
        return tell_no_licence(device, features);                                    \
    }
LICENCE_CALL(nvmlDeviceGetGridLicensableFeatures)
LICENCE_CALL(nvmlDeviceGetGridLicensableFeatures_v2)
LICENCE_CALL(nvmlDeviceGetGridLicensableFeatures_v3)
LICENCE_CALL(nvmlDeviceGetGridLicensableFeatures_v4)
#undef LICENCE_CALL

nvmlReturn_t nvmlSystemGetHicVersion(unsigned int* count, void* entries);
nvmlReturn_t nvmlSystemGetHicVersion(unsigned int* count, void* /*entries*/) {
    if (!Session::current()) return NVML_ERROR_UNINITIALIZED;
    return begin_list(count, nullptr, 0);
}
/// Confidential computing: environment, feature, developer tools; all off.
nvmlReturn_t nvmlSystemGetConfComputeState(unsigned int* state);
nvmlReturn_t nvmlSystemGetConfComputeState(unsigned int* state) {
    if (!Session::current()) return NVML_ERROR_UNINITIALIZED;
    if (state == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    std::fill_n(state, 3, 0U);
    return NVML_SUCCESS;
}
/// The GPUs near one CPU: all of them, since the simulation deals CPUs out by halves only.
nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned int cpu, unsigned int* count,
                                         nvmlDevice_t* devices);
nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned int /*cpu*/, unsigned int* count,
                                         nvmlDevice_t* devices) {
    const auto session = Session::current();
    if (!session) return NVML_ERROR_UNINITIALIZED;
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (devices == nullptr) {
        *count = session->gpu_count();
        return NVML_SUCCESS;
    }
    *count = std::min(*count, session->gpu_count());
    for (unsigned i = 0; i < *count; ++i) devices[i] = Session::handle_of(i);
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpmQueryIfStreamingEnabled(nvmlDevice_t device, unsigned int* state);
nvmlReturn_t nvmlGpmQueryIfStreamingEnabled(nvmlDevice_t device, unsigned int* state) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (state == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->architecture < NVML_DEVICE_ARCH_HOPPER) return NVML_ERROR_NOT_SUPPORTED;
        *state = 0;
        return NVML_SUCCESS;
    });
}

}  // extern "C"
