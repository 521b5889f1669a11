// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "exposition/field.h"

namespace aliquot::exposition {
namespace {

using enum Way;
using gpu::Metric;
using telemetry::Amounts;

constexpr std::array kClassic{
    Field{"DCGM_FI_DEV_SM_CLOCK", kGpu, Metric::kSmClockMhz},
    Field{"DCGM_FI_DEV_MEM_CLOCK", kGpu, Metric::kMemoryClockMhz},
    Field{"DCGM_FI_DEV_VIDEO_CLOCK", kGpu, Metric::kVideoClockMhz},
    Field{"DCGM_FI_DEV_MAX_SM_CLOCK", kGpu, Metric::kMaxSmClockMhz},
    Field{"DCGM_FI_DEV_MAX_MEM_CLOCK", kGpu, Metric::kMaxMemoryClockMhz},
    Field{"DCGM_FI_DEV_MEMORY_TEMP", kGpu, Metric::kMemoryTemperatureCelsius},
    Field{"DCGM_FI_DEV_GPU_TEMP", kGpu, Metric::kTemperatureCelsius},
    Field{"DCGM_FI_DEV_SLOWDOWN_TEMP", kGpu, Metric::kSlowdownCelsius},
    Field{"DCGM_FI_DEV_SHUTDOWN_TEMP", kGpu, Metric::kShutdownCelsius},
    Field{"DCGM_FI_DEV_POWER_USAGE", kSplit, {}, Convert::kMilli, &Amounts::power_milliwatts},
    Field{"DCGM_FI_DEV_POWER_USAGE_INSTANT", kGpu, Metric::kPowerInstantMilliwatts,
          Convert::kMilli},
    Field{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
          kSplit,
          {},
          Convert::kWhole,
          &Amounts::energy_millijoules},
    Field{"DCGM_FI_DEV_POWER_MGMT_LIMIT", kGpu, Metric::kPowerLimitMilliwatts, Convert::kMilli},
    Field{"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", kGpu, Metric::kEnforcedPowerLimitMilliwatts,
          Convert::kMilli},
    Field{"DCGM_FI_DEV_PSTATE", kGpu, Metric::kPerformanceState},
    Field{"DCGM_FI_DEV_FAN_SPEED", kGpu, Metric::kFanPercent},
    Field{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", kGpu, Metric::kClockEventReasons},
    Field{"DCGM_FI_DEV_MIG_MODE", kMigMode},
    Field{"DCGM_FI_DEV_BAR1_TOTAL", kGpu, Metric::kBar1TotalBytes, Convert::kMebibytes},
    Field{"DCGM_FI_DEV_BAR1_USED", kGpu, Metric::kBar1UsedBytes, Convert::kMebibytes},
    Field{"DCGM_FI_DEV_BAR1_FREE", kBar1Free, {}, Convert::kMebibytes},
    Field{"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", kGpu, Metric::kPcieReplays},
    Field{"DCGM_FI_DEV_GPU_UTIL", kSplit, {}, Convert::kPpmPercent, &Amounts::utilization_ppm},
    Field{"DCGM_FI_DEV_MEM_COPY_UTIL", kUncut, Metric::kMemoryBusyPercent},
    Field{"DCGM_FI_DEV_ENC_UTIL", kUncut, Metric::kEncoderPercent},
    Field{"DCGM_FI_DEV_DEC_UTIL", kUncut, Metric::kDecoderPercent},
    Field{"DCGM_FI_DEV_XID_ERRORS", kXid},
    Field{"DCGM_FI_DEV_POWER_VIOLATION", kGpu, Metric::kThrottlePowerNs},
    Field{"DCGM_FI_DEV_THERMAL_VIOLATION", kGpu, Metric::kThrottleThermalNs},
    Field{"DCGM_FI_DEV_SYNC_BOOST_VIOLATION", kGpu, Metric::kThrottleSyncBoostNs},
    Field{"DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", kGpu, Metric::kThrottleBoardLimitNs},
    Field{"DCGM_FI_DEV_LOW_UTIL_VIOLATION", kGpu, Metric::kThrottleLowUtilizationNs},
    Field{"DCGM_FI_DEV_RELIABILITY_VIOLATION", kGpu, Metric::kThrottleReliabilityNs},
    Field{"DCGM_FI_DEV_FB_TOTAL", kPart, Metric::kMemoryTotalBytes, Convert::kMebibytes},
    Field{"DCGM_FI_DEV_FB_FREE", kFree, Metric::kMemoryFreeBytes, Convert::kMebibytes},
    Field{"DCGM_FI_DEV_FB_USED", kSplit, {}, Convert::kMebibytes, &Amounts::memory_bytes},
    Field{"DCGM_FI_DEV_FB_RESERVED", kPart, Metric::kMemoryReservedBytes, Convert::kMebibytes},
    Field{"DCGM_FI_DEV_FB_USED_PERCENT", kUsedShare, {}, Convert::kRatio},
    Field{"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", kGpu, Metric::kEccCorrectedVolatile},
    Field{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", kGpu, Metric::kEccUncorrectedVolatile},
    Field{"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", kGpu, Metric::kEccCorrectedAggregate},
    Field{"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", kGpu, Metric::kEccUncorrectedAggregate},
    Field{"DCGM_FI_DEV_RETIRED_SBE", kGpu, Metric::kRetiredPagesCorrected},
    Field{"DCGM_FI_DEV_RETIRED_DBE", kGpu, Metric::kRetiredPagesUncorrected},
    Field{"DCGM_FI_DEV_RETIRED_PENDING", kGpu, Metric::kRetiredPagesPending},
    Field{"DCGM_FI_DEV_VGPU_LICENSE_STATUS", kLicense},
    Field{"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", kGpu, Metric::kRemappedRowsUncorrected},
    Field{"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", kGpu, Metric::kRemappedRowsCorrected},
    Field{"DCGM_FI_DEV_ROW_REMAP_FAILURE", kGpu, Metric::kRowRemapFailed},
    Field{"DCGM_FI_DEV_ROW_REMAP_PENDING", kGpu, Metric::kRowRemapPending},
    Field{"DCGM_FI_DEV_GPU_RECOVERY_ACTION", kGpu, Metric::kRecoveryAction},
    Field{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", kActive, Metric::kGraphicsActive, Convert::kRatio},
    Field{"DCGM_FI_PROF_SM_ACTIVE", kPart, Metric::kSmActive, Convert::kRatio},
    Field{"DCGM_FI_PROF_SM_OCCUPANCY", kPart, Metric::kSmOccupancy, Convert::kRatio},
    Field{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", kPart, Metric::kTensorActive, Convert::kRatio},
    Field{"DCGM_FI_PROF_DRAM_ACTIVE", kPart, Metric::kMemoryBandwidthActive, Convert::kRatio},
    Field{"DCGM_FI_PROF_PIPE_FP64_ACTIVE", kPart, Metric::kFp64Active, Convert::kRatio},
    Field{"DCGM_FI_PROF_PIPE_FP32_ACTIVE", kPart, Metric::kFp32Active, Convert::kRatio},
    Field{"DCGM_FI_PROF_PIPE_FP16_ACTIVE", kPart, Metric::kFp16Active, Convert::kRatio},
    Field{"DCGM_FI_PROF_PCIE_TX_BYTES", kUncut, Metric::kPcieTxBytesPerSecond},
    Field{"DCGM_FI_PROF_PCIE_RX_BYTES", kUncut, Metric::kPcieRxBytesPerSecond},
    Field{"DCGM_EXP_XID_ERRORS_COUNT", kRecentXids},
    Field{"DCGM_EXP_GPU_HEALTH_STATUS", kHealth},
};

constexpr std::array kRenamed{
    Field{"DCGM_FI_DEV_SM_CLOCK_HERTZ", kGpu, Metric::kSmClockMhz, Convert::kMillion},
    Field{"DCGM_FI_DEV_MEMORY_CLOCK_HERTZ", kGpu, Metric::kMemoryClockMhz, Convert::kMillion},
    Field{"DCGM_FI_DEV_VIDEO_CLOCK_HERTZ", kGpu, Metric::kVideoClockMhz, Convert::kMillion},
    Field{"DCGM_FI_DEV_SM_MAX_CLOCK_HERTZ", kGpu, Metric::kMaxSmClockMhz, Convert::kMillion},
    Field{"DCGM_FI_DEV_MEMORY_MAX_CLOCK_HERTZ", kGpu, Metric::kMaxMemoryClockMhz,
          Convert::kMillion},
    Field{"DCGM_FI_DEV_MEMORY_TEMP_CELSIUS", kGpu, Metric::kMemoryTemperatureCelsius},
    Field{"DCGM_FI_DEV_GPU_TEMP_CELSIUS", kGpu, Metric::kTemperatureCelsius},
    Field{"DCGM_FI_DEV_BOARD_POWER_WATTS", kSplit, {}, Convert::kMilli, &Amounts::power_milliwatts},
    Field{"DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL",
          kSplit,
          {},
          Convert::kMilli,
          &Amounts::energy_millijoules},
    Field{"DCGM_FI_DEV_FAN_SPEED_RATIO", kGpu, Metric::kFanPercent, Convert::kPercent},
    Field{"DCGM_FI_DEV_BAR1_CAPACITY_BYTES", kGpu, Metric::kBar1TotalBytes},
    Field{"DCGM_FI_DEV_BAR1_USED_BYTES", kGpu, Metric::kBar1UsedBytes},
    Field{"DCGM_FI_DEV_BAR1_FREE_BYTES", kBar1Free},
    Field{"DCGM_FI_DEV_PCIE_REPLAY_TOTAL", kGpu, Metric::kPcieReplays},
    Field{"DCGM_FI_DEV_GPU_UTIL_RATIO", kSplit, {}, Convert::kPpmRatio, &Amounts::utilization_ppm},
    Field{"DCGM_FI_DEV_XID_ERROR", kXid},
    Field{"DCGM_FI_DEV_FB_CAPACITY_BYTES", kPart, Metric::kMemoryTotalBytes},
    Field{"DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL", kGpu, Metric::kRemappedRowsUncorrected},
    Field{"DCGM_FI_DEV_ROW_REMAP_CORRECTABLE_TOTAL", kGpu, Metric::kRemappedRowsCorrected},
    Field{"DCGM_FI_DEV_ROW_REMAP_FAILED", kGpu, Metric::kRowRemapFailed},
    Field{"DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", kActive, Metric::kGraphicsActive, Convert::kRatio},
    Field{"DCGM_FI_PROF_TENSOR_UTIL_RATIO", kPart, Metric::kTensorActive, Convert::kRatio},
    Field{"DCGM_FI_PROF_DRAM_UTIL_RATIO", kPart, Metric::kMemoryBandwidthActive, Convert::kRatio},
};

/// A field under the name that it is answered with.
struct Chosen {
    const Field* field = nullptr;
    const Family* family = nullptr;
    const Counter* counter = nullptr;  // of the list; nullptr: the default ones
    bool renamed = false;              // labels of 4.9
};

const Field* find(std::string_view name) {
    for (const Field& field : kClassic) {
        if (field.name == name) return &field;
    }
    for (const Field& field : kRenamed) {
        if (field.name == name) return &field;
    }
    return nullptr;
}

std::vector<Chosen> choose(const Style& style) {
    std::vector<Chosen> chosen;
    if (style.counters) {
        for (const Counter& counter : style.counters->counters) {
            const Field* field = find(counter.family->name);
            if (field == nullptr) continue;
            chosen.push_back(
                {field, counter.family, &counter, counter.family->group == Group::kRenamed});
        }
        return chosen;
    }
    const bool renamed_only = style.compat == Compat::kRenamed;
    for (const Field& field : kClassic) {
        const Family* family = find_family(field.name);
        if (family->listed || (renamed_only && !family->now.empty())) continue;
        chosen.push_back({&field, family, nullptr, renamed_only});
    }
    if (style.compat == Compat::kClassic) return chosen;
    for (const Field& field : kRenamed) {
        const Family* family = find_family(field.name);
        if (!family->listed) chosen.push_back({&field, family, nullptr, true});
    }
    return chosen;
}

void write_approximated(Text& text, const Scene& scene, const std::vector<Chosen>& chosen) {
    text.family("aliquot_agent_approximated");
    for (const Chosen& one : chosen) {
        if (one.field->way != kActive) continue;
        const FieldRows rows(text, scene, one.renamed);
        for (const DeviceRow& device : scene.rows.devices) {
            if (!rows.approximates(device)) continue;
            text.row(scene.rows.view(device.names.native))
                .label("name", one.counter == nullptr ? one.family->name : one.counter->name)
                .is(1U);
        }
    }
}

}  // namespace

void write_fields(Text& text, const Scene& scene) {
    if (scene.style.compat == Compat::kOff) return;
    const std::vector<Chosen> chosen = choose(scene.style);
    for (const Chosen& one : chosen) {
        if (one.counter == nullptr) {
            text.family(one.family->name);
        } else {
            text.family(one.counter->name, one.counter->help, one.counter->type, one.family->unit);
        }
        FieldRows(text, scene, one.renamed).write(*one.field);
    }
    write_approximated(text, scene, chosen);
}

}  // namespace aliquot::exposition
