// SPDX-License-Identifier: Apache-2.0
//
// Temperature, fans, power, clocks.
#include <algorithm>
#include <optional>

#include "sim/nvml/library.h"

using namespace aliquot::sim;

namespace {

constexpr std::uint64_t kSupportedReasons = 0x1ff;
constexpr unsigned kMemoryMaxCelsius = 95;

nvmlReturn_t tell_temperature_threshold(const Model& model, nvmlTemperatureThresholds_t type,
                                        unsigned& celsius) {
    switch (type) {
        case NVML_TEMPERATURE_THRESHOLD_SHUTDOWN:
            celsius = model.shutdown_celsius;
            return NVML_SUCCESS;
        case NVML_TEMPERATURE_THRESHOLD_SLOWDOWN:
            celsius = model.slowdown_celsius;
            return NVML_SUCCESS;
        case NVML_TEMPERATURE_THRESHOLD_MEM_MAX:
            celsius = kMemoryMaxCelsius;
            return model.bus_width_bits >= 2048 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
        case NVML_TEMPERATURE_THRESHOLD_GPU_MAX:
            celsius = model.max_celsius;
            return NVML_SUCCESS;
        default:
            return type <= NVML_TEMPERATURE_THRESHOLD_GPS_CURR ? NVML_ERROR_NOT_SUPPORTED
                                                               : NVML_ERROR_INVALID_ARGUMENT;
    }
}

/// One of three clock values by NVML's clock type.
std::optional<unsigned> by_type(nvmlClockType_t type, unsigned graphics, unsigned memory,
                                unsigned video) {
    switch (type) {
        case NVML_CLOCK_GRAPHICS:
        case NVML_CLOCK_SM:
            return graphics;
        case NVML_CLOCK_MEM:
            return memory;
        case NVML_CLOCK_VIDEO:
            return video;
        default:
            return std::nullopt;
    }
}

enum class Clock { kNow, kMost, kDefault };

nvmlReturn_t tell_clock(nvmlDevice_t device, nvmlClockType_t type, Clock which,
                        unsigned* megahertz) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        const Figures& now = gpu.figures;
        const Model& model = *gpu.model;
        std::optional<unsigned> clock;
        if (which == Clock::kNow) {
            clock = by_type(type, now.graphics_mhz, now.memory_mhz, now.video_mhz);
        } else if (which == Clock::kMost) {
            clock = by_type(type, model.graphics_mhz, model.memory_mhz, model.video_mhz);
        } else {
            clock = by_type(type, model.base_mhz, model.memory_mhz, model.video_mhz);
        }
        if (megahertz == nullptr || !clock) return NVML_ERROR_INVALID_ARGUMENT;
        *megahertz = *clock;
        return NVML_SUCCESS;
    });
}

/// Application clocks exist on what is no GeForce.
nvmlReturn_t tell_application_clock(nvmlDevice_t device, nvmlClockType_t type,
                                    unsigned* megahertz) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (gpu.model->geforce() || type == NVML_CLOCK_VIDEO) return NVML_ERROR_NOT_SUPPORTED;
        return tell_clock(device, type, Clock::kDefault, megahertz);
    });
}

nvmlReturn_t tell_fan(nvmlDevice_t device, unsigned fan, unsigned* value, unsigned per_percent) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (value == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->fans == 0) return NVML_ERROR_NOT_SUPPORTED;
        if (fan >= gpu.model->fans) return NVML_ERROR_INVALID_ARGUMENT;
        *value = gpu.figures.fan_percent * per_percent;
        return NVML_SUCCESS;
    });
}

nvmlReturn_t set_power_limit(nvmlDevice_t device, unsigned milliwatts) {
    return with_state_of(device, [&](const Gpu& gpu, State& state) -> nvmlReturn_t {
        if (milliwatts < gpu.model->power_min_watts * 1000 ||
            milliwatts > gpu.model->power_max_watts * 1000) {
            return NVML_ERROR_INVALID_ARGUMENT;
        }
        state.gpus[gpu.slot].power_limit_milliwatts = milliwatts;
        return NVML_SUCCESS;
    });
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                      unsigned int* celsius) {
    if (sensor != NVML_TEMPERATURE_GPU && Session::current()) return NVML_ERROR_INVALID_ARGUMENT;
    return tell(device, celsius, [](const Gpu& gpu) { return gpu.figures.celsius; });
}
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t* temperature) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (temperature == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (temperature->version != nvmlTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (temperature->sensorType != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
        temperature->temperature = static_cast<std::int32_t>(gpu.figures.celsius);
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device,
                                               nvmlTemperatureThresholds_t type,
                                               unsigned int* celsius) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (celsius == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        return tell_temperature_threshold(*gpu.model, type, *celsius);
    });
}
struct MarginTemperature {
    unsigned version;
    int celsius;
};
nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, MarginTemperature* margin);
nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, MarginTemperature* margin) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (margin == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (margin->version != NVML_STRUCT_VERSION(sizeof(MarginTemperature), 1)) {
            return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        }
        if (gpu.model->architecture < NVML_DEVICE_ARCH_ADA) return NVML_ERROR_NOT_SUPPORTED;
        margin->celsius =
            static_cast<int>(gpu.model->max_celsius) - static_cast<int>(gpu.figures.celsius);
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned int* percent) {
    return tell_fan(device, 0, percent, 1);
}
nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned int fan,
                                      unsigned int* percent) {
    return tell_fan(device, fan, percent, 1);
}
nvmlReturn_t nvmlDeviceGetTargetFanSpeed(nvmlDevice_t device, unsigned int fan,
                                         unsigned int* percent);
nvmlReturn_t nvmlDeviceGetTargetFanSpeed(nvmlDevice_t device, unsigned int fan,
                                         unsigned int* percent) {
    return tell_fan(device, fan, percent, 1);
}
nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t device, unsigned int* fans) {
    return tell(device, fans, [](const Gpu& gpu) { return gpu.model->fans; });
}
nvmlReturn_t nvmlDeviceGetMinMaxFanSpeed(nvmlDevice_t device, unsigned int* lowest,
                                         unsigned int* highest);
nvmlReturn_t nvmlDeviceGetMinMaxFanSpeed(nvmlDevice_t device, unsigned int* lowest,
                                         unsigned int* highest) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (lowest == nullptr || highest == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->fans == 0) return NVML_ERROR_NOT_SUPPORTED;
        *lowest = 30;
        *highest = 100;
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int* milliwatts) {
    return tell(device, milliwatts, [](const Gpu& gpu) { return gpu.figures.power_milliwatts; });
}
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long* millijoules) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (millijoules == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->architecture < NVML_DEVICE_ARCH_VOLTA) return NVML_ERROR_NOT_SUPPORTED;
        *millijoules = gpu.state.sums.energy_nanojoules / 1'000'000;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int* milliwatts) {
    return tell(device, milliwatts,
                [](const Gpu& gpu) { return gpu.state.power_limit_milliwatts; });
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int* milliwatts) {
    return nvmlDeviceGetPowerManagementLimit(device, milliwatts);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned int* lowest,
                                                          unsigned int* highest) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (lowest == nullptr || highest == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *lowest = gpu.model->power_min_watts * 1000;
        *highest = gpu.model->power_max_watts * 1000;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device,
                                                      unsigned int* milliwatts) {
    return tell(device, milliwatts,
                [](const Gpu& gpu) { return gpu.model->power_default_watts * 1000; });
}
nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t device, nvmlEnableState_t* mode);
nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
    return tell(device, mode, [](const Gpu&) { return NVML_FEATURE_ENABLED; });
}
nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned int milliwatts) {
    return set_power_limit(device, milliwatts);
}
struct PowerValue {
    unsigned version;
    unsigned scope;  // 0: the GPU
    unsigned milliwatts;
};
nvmlReturn_t nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t device, PowerValue* value);
nvmlReturn_t nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t device, PowerValue* value) {
    if (value == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (value->version != NVML_STRUCT_VERSION(sizeof(PowerValue), 2)) {
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    if (value->scope != 0) return NVML_ERROR_NOT_SUPPORTED;
    return set_power_limit(device, value->milliwatts);
}
nvmlReturn_t nvmlDeviceGetPowerSource(nvmlDevice_t device, unsigned int* source);
nvmlReturn_t nvmlDeviceGetPowerSource(nvmlDevice_t device, unsigned int* source) {
    return tell(device, source, [](const Gpu&) { return 0; });  // mains
}

nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, nvmlPstates_t* state) {
    return tell(device, state, [](const Gpu& gpu) { return gpu.figures.performance_state; });
}
nvmlReturn_t nvmlDeviceGetPowerState(nvmlDevice_t device, nvmlPstates_t* state);
nvmlReturn_t nvmlDeviceGetPowerState(nvmlDevice_t device, nvmlPstates_t* state) {
    return nvmlDeviceGetPerformanceState(device, state);
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                    unsigned int* megahertz) {
    return tell_clock(device, type, Clock::kNow, megahertz);
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                       unsigned int* megahertz) {
    return tell_clock(device, type, Clock::kMost, megahertz);
}
nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device, nvmlClockType_t type,
                                                unsigned int* megahertz);
nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device, nvmlClockType_t type,
                                                unsigned int* megahertz) {
    return tell_clock(device, type, Clock::kMost, megahertz);
}
nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id,
                                unsigned int* megahertz) {
    switch (id) {
        case NVML_CLOCK_ID_CURRENT:
            return tell_clock(device, type, Clock::kNow, megahertz);
        case NVML_CLOCK_ID_APP_CLOCK_TARGET:
        case NVML_CLOCK_ID_APP_CLOCK_DEFAULT:
            return tell_application_clock(device, type, megahertz);
        case NVML_CLOCK_ID_CUSTOMER_BOOST_MAX:
            return tell_clock(device, type, Clock::kMost, megahertz);
        default:
            return NVML_ERROR_INVALID_ARGUMENT;
    }
}
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t type,
                                            unsigned int* megahertz) {
    return tell_application_clock(device, type, megahertz);
}
nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, nvmlClockType_t type,
                                                   unsigned int* megahertz);
nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, nvmlClockType_t type,
                                                   unsigned int* megahertz) {
    return tell_application_clock(device, type, megahertz);
}
nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int* count,
                                                unsigned int* megahertz);
nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int* count,
                                                unsigned int* megahertz) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        const bool two = gpu.model->idle_memory_mhz != gpu.model->memory_mhz;
        const auto result = begin_list(count, megahertz, two ? 2 : 1);
        if (result != NVML_SUCCESS) return result;
        megahertz[0] = gpu.model->memory_mhz;
        if (two) megahertz[1] = gpu.model->idle_memory_mhz;
        return result;
    });
}
nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned int memory,
                                                  unsigned int* count, unsigned int* megahertz);
nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned int memory,
                                                  unsigned int* count, unsigned int* megahertz) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        const Model& model = *gpu.model;
        if (memory != model.memory_mhz && memory != model.idle_memory_mhz)
            return NVML_ERROR_NOT_FOUND;
        const unsigned steps = (model.graphics_mhz - model.idle_graphics_mhz) / 15 + 1;
        const auto result = begin_list(count, megahertz, steps);
        if (result != NVML_SUCCESS) return result;
        for (unsigned i = 0; i < steps; ++i) megahertz[i] = model.graphics_mhz - 15 * i;
        return result;
    });
}
nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t device, unsigned int lowest,
                                          unsigned int highest);
nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t device, unsigned int lowest,
                                          unsigned int highest) {
    return with_state_of(device, [&](const Gpu& gpu, State& state) -> nvmlReturn_t {
        if (gpu.model->architecture < NVML_DEVICE_ARCH_VOLTA) return NVML_ERROR_NOT_SUPPORTED;
        if (lowest > highest || highest == 0) return NVML_ERROR_INVALID_ARGUMENT;
        state.gpus[gpu.slot].graphics_clock_limit_mhz = highest;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t device);
nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t device) {
    return with_state_of(device, [&](const Gpu& gpu, State& state) -> nvmlReturn_t {
        if (gpu.model->architecture < NVML_DEVICE_ARCH_VOLTA) return NVML_ERROR_NOT_SUPPORTED;
        state.gpus[gpu.slot].graphics_clock_limit_mhz = 0;
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                    unsigned long long* reasons) {
    return tell(device, reasons, [](const Gpu& gpu) { return gpu.figures.clock_reasons; });
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long* reasons) {
    return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}
nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t device,
                                                      unsigned long long* reasons) {
    return tell(device, reasons, [](const Gpu&) { return kSupportedReasons; });
}
nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t device,
                                                         unsigned long long* reasons) {
    return nvmlDeviceGetSupportedClocksEventReasons(device, reasons);
}
nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, nvmlPerfPolicyType_t policy,
                                          nvmlViolationTime_t* time) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (time == nullptr ||
            (policy > NVML_PERF_POLICY_RELIABILITY && policy != NVML_PERF_POLICY_TOTAL_APP_CLOCKS &&
             policy != NVML_PERF_POLICY_TOTAL_BASE_CLOCKS)) {
            return NVML_ERROR_INVALID_ARGUMENT;
        }
        time->referenceTime = epoch_us();
        time->violationTime = violation_ns(gpu.state.sums, policy);
        return NVML_SUCCESS;
    });
}

}  // extern "C"
