// SPDX-License-Identifier: Apache-2.0
#include "nvml/metered_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace aliquot::nvml {
namespace {

using gpu::Figure;
using gpu::Figures;

constexpr double kHighestCelsius = 200;  // what is above is no temperature
constexpr std::uint32_t kAllLinks = 0xFFFFFFFF;

/// A figure that nvmlDeviceGetFieldValues has.
struct Field {
    unsigned id;
    Figure figure;
    double scale = 1;  // of the driver's unit to ours
    std::uint32_t scope = 0;
    bool adds = false;  // a part of the figure
};

constexpr std::array kFields = {
    Field{NVML_FI_DEV_MEMORY_TEMP, Figure::kMemoryTemperatureCelsius},
    Field{NVML_FI_DEV_POWER_INSTANT, Figure::kPowerInstantMilliwatts},
    Field{NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, Figure::kEnergyMillijoules},
    Field{NVML_FI_DEV_PCIE_REPLAY_COUNTER, Figure::kPcieReplays},
    Field{NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, Figure::kNvlinkTxBytes, 1024, kAllLinks},
    Field{NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, Figure::kNvlinkRxBytes, 1024, kAllLinks},
    Field{NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, Figure::kNvlinkErrors, 1, 0, true},
    Field{NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, Figure::kNvlinkErrors, 1, 0, true},
    Field{NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, Figure::kNvlinkErrors, 1, 0, true},
    Field{NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, Figure::kNvlinkErrors, 1, 0, true},
    Field{NVML_FI_DEV_ECC_SBE_VOL_TOTAL, Figure::kEccCorrectedVolatile},
    Field{NVML_FI_DEV_ECC_DBE_VOL_TOTAL, Figure::kEccUncorrectedVolatile},
    Field{NVML_FI_DEV_ECC_SBE_AGG_TOTAL, Figure::kEccCorrectedAggregate},
    Field{NVML_FI_DEV_ECC_DBE_AGG_TOTAL, Figure::kEccUncorrectedAggregate},
    Field{NVML_FI_DEV_RETIRED_SBE, Figure::kRetiredPagesCorrected},
    Field{NVML_FI_DEV_RETIRED_DBE, Figure::kRetiredPagesUncorrected},
    Field{NVML_FI_DEV_RETIRED_PENDING, Figure::kRetiredPagesPending},
    Field{NVML_FI_DEV_REMAPPED_COR, Figure::kRemappedRowsCorrected},
    Field{NVML_FI_DEV_REMAPPED_UNC, Figure::kRemappedRowsUncorrected},
    Field{NVML_FI_DEV_REMAPPED_PENDING, Figure::kRowRemapPending},
    Field{NVML_FI_DEV_REMAPPED_FAILURE, Figure::kRowRemapFailed},
    Field{NVML_FI_DEV_PERF_POLICY_POWER, Figure::kThrottlePowerNs},
    Field{NVML_FI_DEV_PERF_POLICY_THERMAL, Figure::kThrottleThermalNs},
    Field{NVML_FI_DEV_PERF_POLICY_SYNC_BOOST, Figure::kThrottleSyncBoostNs},
    Field{NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT, Figure::kThrottleBoardLimitNs},
    Field{NVML_FI_DEV_PERF_POLICY_LOW_UTILIZATION, Figure::kThrottleLowUtilizationNs},
    Field{NVML_FI_DEV_PERF_POLICY_RELIABILITY, Figure::kThrottleReliabilityNs},
    Field{NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, Figure::kThrottleSoftwareThermalNs},
    Field{NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, Figure::kThrottleHardwareThermalNs},
    Field{NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN, Figure::kThrottlePowerBrakeNs},
    Field{NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, Figure::kRecoveryAction},
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

void take_field(const Field& field, const nvmlFieldValue_t& told, Figures& figures) {
    const auto number = number_in(told);
    if (!number || !std::isfinite(*number) || *number < 0) return;
    const double value = *number * field.scale;
    if (field.figure == Figure::kMemoryTemperatureCelsius) {
        // Boards without the sensor say 0.
        if (value == 0 || value > kHighestCelsius) return;
    }
    figures.set(field.figure, field.adds ? figures.get(field.figure).value_or(0) + value : value);
}

/// The fields in one call; a field that this GPU does not have is left out from then on.
void read_fields(Inquiry& inquiry, Figures& figures) {
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
            take_field(*wanted[i], values[i], figures);
        } else if (is_not_reported(answer) && answer != NVML_ERROR_NO_DATA) {
            inquiry.refusals().add_field(wanted[i]->id);
        }
    }
}

/// What older drivers have as calls of their own.
void read_what_fields_lack(Inquiry& inquiry, Figures& figures) {
    const Functions& nvml = inquiry.nvml();
    if (!figures.get(Figure::kEnergyMillijoules)) {
        unsigned long long energy = 0;
        if (inquiry.ask(Figure::kEnergyMillijoules, nvml.nvmlDeviceGetTotalEnergyConsumption,
                        &energy)) {
            figures.set(Figure::kEnergyMillijoules, static_cast<double>(energy));
        }
    }
    if (!figures.get(Figure::kPcieReplays)) {
        unsigned replays = 0;
        if (inquiry.ask(Figure::kPcieReplays, nvml.nvmlDeviceGetPcieReplayCounter, &replays)) {
            figures.set(Figure::kPcieReplays, replays);
        }
    }
    if (!figures.get(Figure::kRemappedRowsUncorrected)) {
        std::array<unsigned, 4> rows{};
        if (inquiry.ask(Topic::kRemappedRows, nvml.nvmlDeviceGetRemappedRows, &rows[0], &rows[1],
                        &rows[2], &rows[3])) {
            figures.set(Figure::kRemappedRowsCorrected, rows[0]);
            figures.set(Figure::kRemappedRowsUncorrected, rows[1]);
            figures.set(Figure::kRowRemapPending, rows[2] != 0 ? 1 : 0);
            figures.set(Figure::kRowRemapFailed, rows[3] != 0 ? 1 : 0);
        }
    }
}

void read_clocks(Inquiry& inquiry, Figures& figures) {
    const Functions& nvml = inquiry.nvml();
    const auto read = [&](Figure figure, nvmlClockType_t type) {
        unsigned megahertz = 0;
        if (inquiry.ask(figure, nvml.nvmlDeviceGetClockInfo, type, &megahertz)) {
            figures.set(figure, megahertz);
        }
    };
    read(Figure::kSmClockMhz, NVML_CLOCK_SM);
    read(Figure::kMemoryClockMhz, NVML_CLOCK_MEM);
    read(Figure::kVideoClockMhz, NVML_CLOCK_VIDEO);
    unsigned long long reasons = 0;
    const bool told = nvml.nvmlDeviceGetCurrentClocksEventReasons
                          ? inquiry.ask(Figure::kClockEventReasons,
                                        nvml.nvmlDeviceGetCurrentClocksEventReasons, &reasons)
                          : inquiry.ask(Figure::kClockEventReasons,
                                        nvml.nvmlDeviceGetCurrentClocksThrottleReasons, &reasons);
    if (told) figures.set(Figure::kClockEventReasons, static_cast<double>(reasons));
    nvmlPstates_t state = NVML_PSTATE_UNKNOWN;
    if (inquiry.ask(Figure::kPerformanceState, nvml.nvmlDeviceGetPerformanceState, &state) &&
        state < NVML_PSTATE_UNKNOWN) {
        figures.set(Figure::kPerformanceState, state);
    }
}

void read_utilization(Inquiry& inquiry, Figures& figures) {
    const Functions& nvml = inquiry.nvml();
    const auto set = [&figures](Figure figure, unsigned percent) {
        if (percent <= 100) figures.set(figure, percent);
    };
    nvmlUtilization_t busy{};
    if (inquiry.ask(Topic::kUtilization, nvml.nvmlDeviceGetUtilizationRates, &busy)) {
        set(Figure::kGpuBusyPercent, busy.gpu);
        set(Figure::kMemoryBusyPercent, busy.memory);
    }
    unsigned percent = 0;
    unsigned period_us = 0;
    if (inquiry.ask(Figure::kEncoderPercent, nvml.nvmlDeviceGetEncoderUtilization, &percent,
                    &period_us)) {
        set(Figure::kEncoderPercent, percent);
    }
    if (inquiry.ask(Figure::kDecoderPercent, nvml.nvmlDeviceGetDecoderUtilization, &percent,
                    &period_us)) {
        set(Figure::kDecoderPercent, percent);
    }
}

void read_heat_and_power(Inquiry& inquiry, Figures& figures) {
    const Functions& nvml = inquiry.nvml();
    if (inquiry.open(Figure::kTemperatureCelsius)) {
        const auto told = inquiry.library().temperature(inquiry.device());
        if (inquiry.note(Figure::kTemperatureCelsius, "nvmlDeviceGetTemperature", told.code) &&
            told.value <= kHighestCelsius) {
            figures.set(Figure::kTemperatureCelsius, told.value);
        }
    }
    const auto read = [&](Figure figure, const auto& call) {
        unsigned value = 0;
        if (inquiry.ask(figure, call, &value)) figures.set(figure, value);
    };
    read(Figure::kPowerMilliwatts, nvml.nvmlDeviceGetPowerUsage);
    read(Figure::kPowerLimitMilliwatts, nvml.nvmlDeviceGetPowerManagementLimit);
    read(Figure::kEnforcedPowerLimitMilliwatts, nvml.nvmlDeviceGetEnforcedPowerLimit);
    read(Figure::kFanPercent, nvml.nvmlDeviceGetFanSpeed);
}

void read_licence(Inquiry& inquiry, Figures& figures) {
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
    figures.set(Figure::kVgpuLicensed, licensed ? 1 : 0);
}

}  // namespace

Figures read_lasting_figures(Inquiry& inquiry) {
    Figures figures;
    const Functions& nvml = inquiry.nvml();
    const auto clock = [&](Figure figure, nvmlClockType_t type) {
        unsigned megahertz = 0;
        if (inquiry.ask(figure, nvml.nvmlDeviceGetMaxClockInfo, type, &megahertz)) {
            figures.set(figure, megahertz);
        }
    };
    clock(Figure::kMaxSmClockMhz, NVML_CLOCK_SM);
    clock(Figure::kMaxMemoryClockMhz, NVML_CLOCK_MEM);
    const auto limit = [&](Figure figure, nvmlTemperatureThresholds_t type) {
        unsigned celsius = 0;
        if (inquiry.ask(figure, nvml.nvmlDeviceGetTemperatureThreshold, type, &celsius) &&
            celsius <= kHighestCelsius) {
            figures.set(figure, celsius);
        }
    };
    limit(Figure::kSlowdownCelsius, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
    limit(Figure::kShutdownCelsius, NVML_TEMPERATURE_THRESHOLD_SHUTDOWN);
    return figures;
}

void read_memory(Inquiry& inquiry, Figures& figures) {
    const Functions& nvml = inquiry.nvml();
    nvmlMemory_v2_t memory{};
    memory.version = nvmlMemory_v2;
    if (inquiry.ask(Topic::kMemory, nvml.nvmlDeviceGetMemoryInfo_v2, &memory)) {
        figures.set(Figure::kMemoryTotalBytes, static_cast<double>(memory.total));
        figures.set(Figure::kMemoryUsedBytes, static_cast<double>(memory.used));
        figures.set(Figure::kMemoryFreeBytes, static_cast<double>(memory.free));
        figures.set(Figure::kMemoryReservedBytes, static_cast<double>(memory.reserved));
    } else if (inquiry.refusals().has(Topic::kMemory)) {
        // Drivers before 510: what is reserved counts as used.
        nvmlMemory_t old{};
        if (inquiry.ask(Figure::kMemoryTotalBytes, nvml.nvmlDeviceGetMemoryInfo, &old)) {
            figures.set(Figure::kMemoryTotalBytes, static_cast<double>(old.total));
            figures.set(Figure::kMemoryUsedBytes, static_cast<double>(old.used));
            figures.set(Figure::kMemoryFreeBytes, static_cast<double>(old.free));
        }
    }
    nvmlBAR1Memory_t window{};
    if (inquiry.ask(Topic::kBar1, nvml.nvmlDeviceGetBAR1MemoryInfo, &window)) {
        figures.set(Figure::kBar1TotalBytes, static_cast<double>(window.bar1Total));
        figures.set(Figure::kBar1UsedBytes, static_cast<double>(window.bar1Used));
    }
}

void read_figures(Inquiry& inquiry, bool virtual_gpu, Figures& figures) {
    read_heat_and_power(inquiry, figures);
    read_clocks(inquiry, figures);
    read_utilization(inquiry, figures);
    read_fields(inquiry, figures);
    read_what_fields_lack(inquiry, figures);
    if (virtual_gpu) read_licence(inquiry, figures);
}

bool is_virtual_gpu(Inquiry& inquiry) {
    nvmlGpuVirtualizationMode_t mode = NVML_GPU_VIRTUALIZATION_MODE_NONE;
    return inquiry.ask(Topic::kVirtualization, inquiry.nvml().nvmlDeviceGetVirtualizationMode,
                       &mode) &&
           mode == NVML_GPU_VIRTUALIZATION_MODE_VGPU;
}

}  // namespace aliquot::nvml
