// SPDX-License-Identifier: Apache-2.0
#include "nvml/metric_queries.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace aliquot::nvml {
namespace {

using gpu::Metric;
using gpu::MetricValues;

constexpr double kHighestCelsius = 200;  // what is above is no temperature
constexpr std::uint32_t kAllLinks = 0xFFFFFFFF;

/// A metric that nvmlDeviceGetFieldValues has.
struct Field {
    unsigned id;
    Metric metric;
    double scale = 1;  // of the driver's unit to ours
    std::uint32_t scope = 0;
    bool adds = false;  // a part of the metric
};

constexpr std::array kFields = {
    Field{NVML_FI_DEV_MEMORY_TEMP, Metric::kMemoryTemperatureCelsius},
    Field{NVML_FI_DEV_POWER_INSTANT, Metric::kPowerInstantMilliwatts},
    Field{NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, Metric::kEnergyMillijoules},
    Field{NVML_FI_DEV_PCIE_REPLAY_COUNTER, Metric::kPcieReplays},
    Field{NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, Metric::kNvlinkTxBytes, 1024, kAllLinks},
    Field{NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, Metric::kNvlinkRxBytes, 1024, kAllLinks},
    Field{NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, Metric::kNvlinkErrors, 1, 0, true},
    Field{NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, Metric::kNvlinkErrors, 1, 0, true},
    Field{NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, Metric::kNvlinkErrors, 1, 0, true},
    Field{NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, Metric::kNvlinkErrors, 1, 0, true},
    Field{NVML_FI_DEV_ECC_SBE_VOL_TOTAL, Metric::kEccCorrectedVolatile},
    Field{NVML_FI_DEV_ECC_DBE_VOL_TOTAL, Metric::kEccUncorrectedVolatile},
    Field{NVML_FI_DEV_ECC_SBE_AGG_TOTAL, Metric::kEccCorrectedAggregate},
    Field{NVML_FI_DEV_ECC_DBE_AGG_TOTAL, Metric::kEccUncorrectedAggregate},
    Field{NVML_FI_DEV_RETIRED_SBE, Metric::kRetiredPagesCorrected},
    Field{NVML_FI_DEV_RETIRED_DBE, Metric::kRetiredPagesUncorrected},
    Field{NVML_FI_DEV_RETIRED_PENDING, Metric::kRetiredPagesPending},
    Field{NVML_FI_DEV_REMAPPED_COR, Metric::kRemappedRowsCorrected},
    Field{NVML_FI_DEV_REMAPPED_UNC, Metric::kRemappedRowsUncorrected},
    Field{NVML_FI_DEV_REMAPPED_PENDING, Metric::kRowRemapPending},
    Field{NVML_FI_DEV_REMAPPED_FAILURE, Metric::kRowRemapFailed},
    Field{NVML_FI_DEV_PERF_POLICY_POWER, Metric::kThrottlePowerNs},
    Field{NVML_FI_DEV_PERF_POLICY_THERMAL, Metric::kThrottleThermalNs},
    Field{NVML_FI_DEV_PERF_POLICY_SYNC_BOOST, Metric::kThrottleSyncBoostNs},
    Field{NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT, Metric::kThrottleBoardLimitNs},
    Field{NVML_FI_DEV_PERF_POLICY_LOW_UTILIZATION, Metric::kThrottleLowUtilizationNs},
    Field{NVML_FI_DEV_PERF_POLICY_RELIABILITY, Metric::kThrottleReliabilityNs},
    Field{NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, Metric::kThrottleSoftwareThermalNs},
    Field{NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, Metric::kThrottleHardwareThermalNs},
    Field{NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN, Metric::kThrottlePowerBrakeNs},
    Field{NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, Metric::kRecoveryAction},
};

std::optional<double> number_in(const nvmlFieldValue_t& field) {
    // Drivers 545 give this one a type that is not the one it has.
    if (field.fieldId == NVML_FI_DEV_MEMORY_TEMP) return field.value.uiVal;
    switch (field.valueType) {
        case NVML_VALUE_TYPE_DOUBLE:
            return field.value.dVal;
        case NVML_VALUE_TYPE_UNSIGNED_INT:
            return field.value.uiVal;
        case NVML_VALUE_TYPE_UNSIGNED_LONG:
            return static_cast<double>(field.value.ulVal);
        case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
            return static_cast<double>(field.value.ullVal);
        case NVML_VALUE_TYPE_SIGNED_LONG_LONG:
            return static_cast<double>(field.value.sllVal);
        case NVML_VALUE_TYPE_SIGNED_INT:
            return field.value.siVal;
        case NVML_VALUE_TYPE_UNSIGNED_SHORT:
            return field.value.usVal;
        default:
            return std::nullopt;
    }
}

void take_field(const Field& field, const nvmlFieldValue_t& told, MetricValues& metrics) {
    const auto number = number_in(told);
    if (!number || !std::isfinite(*number) || *number < 0) return;
    const double value = *number * field.scale;
    if (field.metric == Metric::kMemoryTemperatureCelsius) {
        // Boards without the sensor say 0.
        if (value == 0 || value > kHighestCelsius) return;
    }
    metrics.set(field.metric, field.adds ? metrics.get(field.metric).value_or(0) + value : value);
}

/// The fields in one call; a field that this GPU does not have is left out from then on.
void read_fields(Inquiry& inquiry, MetricValues& metrics) {
    if (!inquiry.open(Topic::kFields)) return;
    std::vector<const Field*> wanted;
    std::vector<nvmlFieldValue_t> values;
    for (const Field& field : kFields) {
        if (inquiry.refusals().has_field(field.id)) continue;
        wanted.push_back(&field);
        nvmlFieldValue_t value{};
        value.fieldId = field.id;
        value.scopeId = field.scope;
        values.push_back(value);
    }
    if (wanted.empty()) return;
    const auto& call = inquiry.nvml().nvmlDeviceGetFieldValues;
    const auto code = call(inquiry.device(), static_cast<int>(values.size()), values.data());
    if (code == NVML_ERROR_INVALID_ARGUMENT) {
        // An old driver may refuse all of them because of one that it does not know.
        for (nvmlFieldValue_t& value : values) {
            const auto alone = call(inquiry.device(), 1, &value);
            if (alone != NVML_SUCCESS) value.nvmlReturn = alone;
        }
    } else if (!inquiry.note(Topic::kFields, call.name(), code)) {
        return;
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto answer = values[i].nvmlReturn;
        if (inquiry.note_failure(call.name(), answer)) {
            take_field(*wanted[i], values[i], metrics);
        } else if (is_not_reported(answer) && answer != NVML_ERROR_NO_DATA) {
            inquiry.refusals().add_field(wanted[i]->id);
        }
    }
}

/// What older drivers have as calls of their own.
void read_what_fields_lack(Inquiry& inquiry, MetricValues& metrics) {
    const Functions& nvml = inquiry.nvml();
    if (!metrics.get(Metric::kEnergyMillijoules)) {
        unsigned long long energy = 0;
        if (inquiry.ask(Metric::kEnergyMillijoules, nvml.nvmlDeviceGetTotalEnergyConsumption,
                        &energy)) {
            metrics.set(Metric::kEnergyMillijoules, static_cast<double>(energy));
        }
    }
    if (!metrics.get(Metric::kPcieReplays)) {
        unsigned replays = 0;
        if (inquiry.ask(Metric::kPcieReplays, nvml.nvmlDeviceGetPcieReplayCounter, &replays)) {
            metrics.set(Metric::kPcieReplays, replays);
        }
    }
    if (!metrics.get(Metric::kRemappedRowsUncorrected)) {
        std::array<unsigned, 4> rows{};
        if (inquiry.ask(Topic::kRemappedRows, nvml.nvmlDeviceGetRemappedRows, &rows[0], &rows[1],
                        &rows[2], &rows[3])) {
            metrics.set(Metric::kRemappedRowsCorrected, rows[0]);
            metrics.set(Metric::kRemappedRowsUncorrected, rows[1]);
            metrics.set(Metric::kRowRemapPending, rows[2] != 0 ? 1 : 0);
            metrics.set(Metric::kRowRemapFailed, rows[3] != 0 ? 1 : 0);
        }
    }
}

void read_clocks(Inquiry& inquiry, MetricValues& metrics) {
    const Functions& nvml = inquiry.nvml();
    const auto read = [&](Metric metric, nvmlClockType_t type) {
        unsigned megahertz = 0;
        if (inquiry.ask(metric, nvml.nvmlDeviceGetClockInfo, type, &megahertz)) {
            metrics.set(metric, megahertz);
        }
    };
    read(Metric::kSmClockMhz, NVML_CLOCK_SM);
    read(Metric::kMemoryClockMhz, NVML_CLOCK_MEM);
    read(Metric::kVideoClockMhz, NVML_CLOCK_VIDEO);
    unsigned long long reasons = 0;
    const bool told = nvml.nvmlDeviceGetCurrentClocksEventReasons
                          ? inquiry.ask(Metric::kClockEventReasons,
                                        nvml.nvmlDeviceGetCurrentClocksEventReasons, &reasons)
                          : inquiry.ask(Metric::kClockEventReasons,
                                        nvml.nvmlDeviceGetCurrentClocksThrottleReasons, &reasons);
    if (told) metrics.set(Metric::kClockEventReasons, static_cast<double>(reasons));
    nvmlPstates_t state = NVML_PSTATE_UNKNOWN;
    if (inquiry.ask(Metric::kPerformanceState, nvml.nvmlDeviceGetPerformanceState, &state) &&
        state < NVML_PSTATE_UNKNOWN) {
        metrics.set(Metric::kPerformanceState, state);
    }
}

void read_utilization(Inquiry& inquiry, MetricValues& metrics) {
    const Functions& nvml = inquiry.nvml();
    const auto set = [&metrics](Metric metric, unsigned percent) {
        if (percent <= 100) metrics.set(metric, percent);
    };
    nvmlUtilization_t busy{};
    if (inquiry.ask(Topic::kUtilization, nvml.nvmlDeviceGetUtilizationRates, &busy)) {
        set(Metric::kGpuBusyPercent, busy.gpu);
        set(Metric::kMemoryBusyPercent, busy.memory);
    }
    unsigned percent = 0;
    unsigned period_us = 0;
    if (inquiry.ask(Metric::kEncoderPercent, nvml.nvmlDeviceGetEncoderUtilization, &percent,
                    &period_us)) {
        set(Metric::kEncoderPercent, percent);
    }
    if (inquiry.ask(Metric::kDecoderPercent, nvml.nvmlDeviceGetDecoderUtilization, &percent,
                    &period_us)) {
        set(Metric::kDecoderPercent, percent);
    }
}

void read_heat_and_power(Inquiry& inquiry, MetricValues& metrics) {
    const Functions& nvml = inquiry.nvml();
    if (inquiry.open(Metric::kTemperatureCelsius)) {
        const auto told = inquiry.library().temperature(inquiry.device());
        if (inquiry.note(Metric::kTemperatureCelsius, "nvmlDeviceGetTemperature", told.code) &&
            told.value <= kHighestCelsius) {
            metrics.set(Metric::kTemperatureCelsius, told.value);
        }
    }
    const auto read = [&](Metric metric, const auto& call) {
        unsigned value = 0;
        if (inquiry.ask(metric, call, &value)) metrics.set(metric, value);
    };
    read(Metric::kPowerMilliwatts, nvml.nvmlDeviceGetPowerUsage);
    read(Metric::kPowerLimitMilliwatts, nvml.nvmlDeviceGetPowerManagementLimit);
    read(Metric::kEnforcedPowerLimitMilliwatts, nvml.nvmlDeviceGetEnforcedPowerLimit);
    read(Metric::kFanPercent, nvml.nvmlDeviceGetFanSpeed);
}

void read_link(Inquiry& inquiry, MetricValues& metrics) {
    const Functions& nvml = inquiry.nvml();
    const auto read = [&](Metric metric, const auto& call) {
        unsigned value = 0;
        if (inquiry.ask(metric, call, &value) && value != 0) metrics.set(metric, value);
    };
    read(Metric::kPcieGeneration, nvml.nvmlDeviceGetCurrPcieLinkGeneration);
    read(Metric::kPcieWidth, nvml.nvmlDeviceGetCurrPcieLinkWidth);
}

void read_licence(Inquiry& inquiry, MetricValues& metrics) {
    nvmlGridLicensableFeatures_t features{};
    if (!inquiry.ask(Topic::kLicence, inquiry.nvml().nvmlDeviceGetGridLicensableFeatures_v4,
                     &features) ||
        features.isGridLicenseSupported == 0) {
        return;
    }
    constexpr unsigned kMost = std::size(features.gridLicensableFeatures);
    bool licensed = false;
    for (unsigned i = 0; i < std::min(features.licensableFeaturesCount, kMost); ++i) {
        licensed = licensed || features.gridLicensableFeatures[i].featureState != 0;
    }
    metrics.set(Metric::kVgpuLicensed, licensed ? 1 : 0);
}

}  // namespace

MetricValues read_lasting_metrics(Inquiry& inquiry) {
    MetricValues metrics;
    const Functions& nvml = inquiry.nvml();
    const auto clock = [&](Metric metric, nvmlClockType_t type) {
        unsigned megahertz = 0;
        if (inquiry.ask(metric, nvml.nvmlDeviceGetMaxClockInfo, type, &megahertz)) {
            metrics.set(metric, megahertz);
        }
    };
    clock(Metric::kMaxSmClockMhz, NVML_CLOCK_SM);
    clock(Metric::kMaxMemoryClockMhz, NVML_CLOCK_MEM);
    const auto limit = [&](Metric metric, nvmlTemperatureThresholds_t type) {
        unsigned celsius = 0;
        if (inquiry.ask(metric, nvml.nvmlDeviceGetTemperatureThreshold, type, &celsius) &&
            celsius <= kHighestCelsius) {
            metrics.set(metric, celsius);
        }
    };
    limit(Metric::kSlowdownCelsius, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
    limit(Metric::kShutdownCelsius, NVML_TEMPERATURE_THRESHOLD_SHUTDOWN);
    const auto most = [&](Metric metric, const auto& call) {
        unsigned value = 0;
        if (inquiry.ask(metric, call, &value) && value != 0) metrics.set(metric, value);
    };
    most(Metric::kMaxPcieGeneration, nvml.nvmlDeviceGetMaxPcieLinkGeneration);
    most(Metric::kMaxPcieWidth, nvml.nvmlDeviceGetMaxPcieLinkWidth);
    most(Metric::kDefaultPowerLimitMilliwatts, nvml.nvmlDeviceGetPowerManagementDefaultLimit);
    return metrics;
}

void read_memory(Inquiry& inquiry, MetricValues& metrics) {
    const Functions& nvml = inquiry.nvml();
    nvmlMemory_v2_t memory{};
    memory.version = nvmlMemory_v2;
    if (inquiry.ask(Topic::kMemory, nvml.nvmlDeviceGetMemoryInfo_v2, &memory)) {
        metrics.set(Metric::kMemoryTotalBytes, static_cast<double>(memory.total));
        metrics.set(Metric::kMemoryUsedBytes, static_cast<double>(memory.used));
        metrics.set(Metric::kMemoryFreeBytes, static_cast<double>(memory.free));
        metrics.set(Metric::kMemoryReservedBytes, static_cast<double>(memory.reserved));
    } else if (inquiry.refusals().has(Topic::kMemory)) {
        // Drivers before 510: what is reserved counts as used.
        nvmlMemory_t old{};
        if (inquiry.ask(Metric::kMemoryTotalBytes, nvml.nvmlDeviceGetMemoryInfo, &old)) {
            metrics.set(Metric::kMemoryTotalBytes, static_cast<double>(old.total));
            metrics.set(Metric::kMemoryUsedBytes, static_cast<double>(old.used));
            metrics.set(Metric::kMemoryFreeBytes, static_cast<double>(old.free));
        }
    }
    nvmlBAR1Memory_t window{};
    if (inquiry.ask(Topic::kBar1, nvml.nvmlDeviceGetBAR1MemoryInfo, &window)) {
        metrics.set(Metric::kBar1TotalBytes, static_cast<double>(window.bar1Total));
        metrics.set(Metric::kBar1UsedBytes, static_cast<double>(window.bar1Used));
    }
}

void read_metrics(Inquiry& inquiry, bool virtual_gpu, MetricValues& metrics) {
    read_heat_and_power(inquiry, metrics);
    read_clocks(inquiry, metrics);
    read_utilization(inquiry, metrics);
    read_link(inquiry, metrics);
    read_fields(inquiry, metrics);
    read_what_fields_lack(inquiry, metrics);
    if (virtual_gpu) read_licence(inquiry, metrics);
}

bool is_virtual_gpu(Inquiry& inquiry) {
    nvmlGpuVirtualizationMode_t mode = NVML_GPU_VIRTUALIZATION_MODE_NONE;
    return inquiry.ask(Topic::kVirtualization, inquiry.nvml().nvmlDeviceGetVirtualizationMode,
                       &mode) &&
           mode == NVML_GPU_VIRTUALIZATION_MODE_VGPU;
}

}  // namespace aliquot::nvml
