// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "exposition/field.h"

namespace aliquot::exposition {
namespace {

using enum Way;
using gpu::Figure;
using telemetry::Amounts;

constexpr std::array kClassic{
    Field{"DCGM_FI_DEV_SM_CLOCK", kGpu, Figure::kSmClockMhz},
    Field{"DCGM_FI_DEV_MEM_CLOCK", kGpu, Figure::kMemoryClockMhz},
    Field{"DCGM_FI_DEV_VIDEO_CLOCK", kGpu, Figure::kVideoClockMhz},
    Field{"DCGM_FI_DEV_MAX_SM_CLOCK", kGpu, Figure::kMaxSmClockMhz},
    Field{"DCGM_FI_DEV_MAX_MEM_CLOCK", kGpu, Figure::kMaxMemoryClockMhz},
    Field{"DCGM_FI_DEV_MEMORY_TEMP", kGpu, Figure::kMemoryTemperatureCelsius},
    Field{"DCGM_FI_DEV_GPU_TEMP", kGpu, Figure::kTemperatureCelsius},
    Field{"DCGM_FI_DEV_SLOWDOWN_TEMP", kGpu, Figure::kSlowdownCelsius},
    Field{"DCGM_FI_DEV_SHUTDOWN_TEMP", kGpu, Figure::kShutdownCelsius},
    Field{"DCGM_FI_DEV_POWER_USAGE", kSplit, {}, Convert::kMilli, &Amounts::power_milliwatts},
    Field{"DCGM_FI_DEV_POWER_USAGE_INSTANT", kGpu, Figure::kPowerInstantMilliwatts,
          Convert::kMilli},
    Field{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
          kSplit,
          {},
          Convert::kWhole,
          &Amounts::energy_millijoules},
    Field{"DCGM_FI_DEV_POWER_MGMT_LIMIT", kGpu, Figure::kPowerLimitMilliwatts, Convert::kMilli},
    Field{"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", kGpu, Figure::kEnforcedPowerLimitMilliwatts,
          Convert::kMilli},
    Field{"DCGM_FI_DEV_PSTATE", kGpu, Figure::kPerformanceState},
    Field{"DCGM_FI_DEV_FAN_SPEED", kGpu, Figure::kFanPercent},
    Field{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", kGpu, Figure::kClockEventReasons},
    Field{"DCGM_FI_DEV_MIG_MODE", kMigMode},
    Field{"DCGM_FI_DEV_BAR1_TOTAL", kGpu, Figure::kBar1TotalBytes, Convert::kMebibytes},
    Field{"DCGM_FI_DEV_BAR1_USED", kGpu, Figure::kBar1UsedBytes, Convert::kMebibytes},
    Field{"DCGM_FI_DEV_BAR1_FREE", kBar1Free, {}, Convert::kMebibytes},
    Field{"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", kGpu, Figure::kPcieReplays},
    Field{"DCGM_FI_DEV_GPU_UTIL", kSplit, {}, Convert::kPpmPercent, &Amounts::utilization_ppm},
    Field{"DCGM_FI_DEV_MEM_COPY_UTIL", kUncut, Figure::kMemoryBusyPercent},
    Field{"DCGM_FI_DEV_ENC_UTIL", kUncut, Figure::kEncoderPercent},
    Field{"DCGM_FI_DEV_DEC_UTIL", kUncut, Figure::kDecoderPercent},
    Field{"DCGM_FI_DEV_XID_ERRORS", kXid},
    Field{"DCGM_FI_DEV_POWER_VIOLATION", kGpu, Figure::kThrottlePowerNs},
    Field{"DCGM_FI_DEV_THERMAL_VIOLATION", kGpu, Figure::kThrottleThermalNs},
    Field{"DCGM_FI_DEV_SYNC_BOOST_VIOLATION", kGpu, Figure::kThrottleSyncBoostNs},
    Field{"DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", kGpu, Figure::kThrottleBoardLimitNs},
    Field{"DCGM_FI_DEV_LOW_UTIL_VIOLATION", kGpu, Figure::kThrottleLowUtilizationNs},
    Field{"DCGM_FI_DEV_RELIABILITY_VIOLATION", kGpu, Figure::kThrottleReliabilityNs},
    Field{"DCGM_FI_DEV_FB_TOTAL", kPart, Figure::kMemoryTotalBytes, Convert::kMebibytes},
    Field{"DCGM_FI_DEV_FB_FREE", kFree, Figure::kMemoryFreeBytes, Convert::kMebibytes},
    Field{"DCGM_FI_DEV_FB_USED", kSplit, {}, Convert::kMebibytes, &Amounts::memory_bytes},
    Field{"DCGM_FI_DEV_FB_RESERVED", kPart, Figure::kMemoryReservedBytes, Convert::kMebibytes},
    Field{"DCGM_FI_DEV_FB_USED_PERCENT", kUsedShare, {}, Convert::kRatio},
    Field{"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", kGpu, Figure::kEccCorrectedVolatile},
    Field{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", kGpu, Figure::kEccUncorrectedVolatile},
    Field{"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", kGpu, Figure::kEccCorrectedAggregate},
    Field{"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", kGpu, Figure::kEccUncorrectedAggregate},
    Field{"DCGM_FI_DEV_RETIRED_SBE", kGpu, Figure::kRetiredPagesCorrected},
    Field{"DCGM_FI_DEV_RETIRED_DBE", kGpu, Figure::kRetiredPagesUncorrected},
    Field{"DCGM_FI_DEV_RETIRED_PENDING", kGpu, Figure::kRetiredPagesPending},
    Field{"DCGM_FI_DEV_VGPU_LICENSE_STATUS", kLicense},
    Field{"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", kGpu, Figure::kRemappedRowsUncorrected},
    Field{"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", kGpu, Figure::kRemappedRowsCorrected},
    Field{"DCGM_FI_DEV_ROW_REMAP_FAILURE", kGpu, Figure::kRowRemapFailed},
    Field{"DCGM_FI_DEV_ROW_REMAP_PENDING", kGpu, Figure::kRowRemapPending},
    Field{"DCGM_FI_DEV_GPU_RECOVERY_ACTION", kGpu, Figure::kRecoveryAction},
    Field{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", kActive, Figure::kGraphicsActive, Convert::kRatio},
    Field{"DCGM_FI_PROF_SM_ACTIVE", kPart, Figure::kSmActive, Convert::kRatio},
    Field{"DCGM_FI_PROF_SM_OCCUPANCY", kPart, Figure::kSmOccupancy, Convert::kRatio},
    Field{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", kPart, Figure::kTensorActive, Convert::kRatio},
    Field{"DCGM_FI_PROF_DRAM_ACTIVE", kPart, Figure::kMemoryBandwidthActive, Convert::kRatio},
    Field{"DCGM_FI_PROF_PIPE_FP64_ACTIVE", kPart, Figure::kFp64Active, Convert::kRatio},
    Field{"DCGM_FI_PROF_PIPE_FP32_ACTIVE", kPart, Figure::kFp32Active, Convert::kRatio},
    Field{"DCGM_FI_PROF_PIPE_FP16_ACTIVE", kPart, Figure::kFp16Active, Convert::kRatio},
    Field{"DCGM_FI_PROF_PCIE_TX_BYTES", kUncut, Figure::kPcieTxBytesPerSecond},
    Field{"DCGM_FI_PROF_PCIE_RX_BYTES", kUncut, Figure::kPcieRxBytesPerSecond},
    Field{"DCGM_EXP_XID_ERRORS_COUNT", kRecentXids},
    Field{"DCGM_EXP_GPU_HEALTH_STATUS", kHealth},
};

constexpr std::array kRenamed{
    Field{"DCGM_FI_DEV_SM_CLOCK_HERTZ", kGpu, Figure::kSmClockMhz, Convert::kMillion},
    Field{"DCGM_FI_DEV_MEMORY_CLOCK_HERTZ", kGpu, Figure::kMemoryClockMhz, Convert::kMillion},
    Field{"DCGM_FI_DEV_VIDEO_CLOCK_HERTZ", kGpu, Figure::kVideoClockMhz, Convert::kMillion},
    Field{"DCGM_FI_DEV_SM_MAX_CLOCK_HERTZ", kGpu, Figure::kMaxSmClockMhz, Convert::kMillion},
    Field{"DCGM_FI_DEV_MEMORY_MAX_CLOCK_HERTZ", kGpu, Figure::kMaxMemoryClockMhz,
          Convert::kMillion},
    Field{"DCGM_FI_DEV_MEMORY_TEMP_CELSIUS", kGpu, Figure::kMemoryTemperatureCelsius},
    Field{"DCGM_FI_DEV_GPU_TEMP_CELSIUS", kGpu, Figure::kTemperatureCelsius},
    Field{"DCGM_FI_DEV_BOARD_POWER_WATTS", kSplit, {}, Convert::kMilli, &Amounts::power_milliwatts},
    Field{"DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL",
          kSplit,
          {},
          Convert::kMilli,
          &Amounts::energy_millijoules},
    Field{"DCGM_FI_DEV_FAN_SPEED_RATIO", kGpu, Figure::kFanPercent, Convert::kPercent},
    Field{"DCGM_FI_DEV_BAR1_CAPACITY_BYTES", kGpu, Figure::kBar1TotalBytes},
    Field{"DCGM_FI_DEV_BAR1_USED_BYTES", kGpu, Figure::kBar1UsedBytes},
    Field{"DCGM_FI_DEV_BAR1_FREE_BYTES", kBar1Free},
    Field{"DCGM_FI_DEV_PCIE_REPLAY_TOTAL", kGpu, Figure::kPcieReplays},
    Field{"DCGM_FI_DEV_GPU_UTIL_RATIO", kSplit, {}, Convert::kPpmRatio, &Amounts::utilization_ppm},
    Field{"DCGM_FI_DEV_XID_ERROR", kXid},
    Field{"DCGM_FI_DEV_FB_CAPACITY_BYTES", kPart, Figure::kMemoryTotalBytes},
    Field{"DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL", kGpu, Figure::kRemappedRowsUncorrected},
    Field{"DCGM_FI_DEV_ROW_REMAP_CORRECTABLE_TOTAL", kGpu, Figure::kRemappedRowsCorrected},
    Field{"DCGM_FI_DEV_ROW_REMAP_FAILED", kGpu, Figure::kRowRemapFailed},
    Field{"DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", kActive, Figure::kGraphicsActive, Convert::kRatio},
    Field{"DCGM_FI_PROF_TENSOR_UTIL_RATIO", kPart, Figure::kTensorActive, Convert::kRatio},
    Field{"DCGM_FI_PROF_DRAM_UTIL_RATIO", kPart, Figure::kMemoryBandwidthActive, Convert::kRatio},
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

std::span<const Field> classic_fields() { return kClassic; }
std::span<const Field> renamed_fields() { return kRenamed; }

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
