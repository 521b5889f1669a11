// SPDX-License-Identifier: Apache-2.0
#include "nvml/condition.h"

namespace aliquot::nvml {

gpu::Condition read_condition(const Library& library, nvmlDevice_t device) {
    const Functions& nvml = library.nvml();
    gpu::Condition condition;
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    if (nvml.nvmlDeviceGetRemappedRows(device, &corrected, &uncorrected, &pending, &failed) ==
        NVML_SUCCESS) {
        condition.remap_pending = pending != 0;
        condition.remap_failed = failed != 0;
    }
    nvmlEnableState_t retiring = NVML_FEATURE_DISABLED;
    if (nvml.nvmlDeviceGetRetiredPagesPendingStatus(device, &retiring) == NVML_SUCCESS) {
        condition.retirement_pending = retiring == NVML_FEATURE_ENABLED;
    }
    unsigned long long reasons = 0;
    auto known = nvml.nvmlDeviceGetCurrentClocksEventReasons(device, &reasons);
    if (known == NVML_ERROR_FUNCTION_NOT_FOUND) {
        known = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(device, &reasons);
    }
    if (known == NVML_SUCCESS) {
        constexpr unsigned long long kHeat =
            nvmlClocksEventReasonSwThermalSlowdown | nvmlClocksThrottleReasonHwThermalSlowdown;
        condition.slowed_by_heat = (reasons & kHeat) != 0;
    }
    const auto temperature = library.temperature(device);
    if (temperature.ok()) condition.temperature_celsius = temperature.value;
    unsigned shutdown = 0;
    if (nvml.nvmlDeviceGetTemperatureThreshold(device, NVML_TEMPERATURE_THRESHOLD_SHUTDOWN,
                                               &shutdown) == NVML_SUCCESS) {
        condition.shutdown_celsius = shutdown;
    }
    return condition;
}

}  // namespace aliquot::nvml
