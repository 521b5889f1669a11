// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/metric_names.h"

#include <algorithm>
#include <array>

namespace aliquot::lint {

namespace {

using enum MetricUnit;

constexpr std::array<Metric, 60> kMetrics{{
    {"DCGM_FI_DEV_SM_CLOCK", kMegahertz, false, true, false},
    {"DCGM_FI_DEV_MEM_CLOCK", kMegahertz, false, true, false},
    {"DCGM_FI_DEV_MEMORY_TEMP", kOther, false, true, false},
    {"DCGM_FI_DEV_GPU_TEMP", kOther, false, true, false},
    {"DCGM_FI_DEV_POWER_USAGE", kOther, false, true, true},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", kMillijoules, true, true, true},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", kOther, true, true, false},
    {"DCGM_FI_DEV_GPU_UTIL", kPercent, false, true, true},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", kPercent, false, true, true},
    {"DCGM_FI_DEV_ENC_UTIL", kPercent, false, true, true},
    {"DCGM_FI_DEV_DEC_UTIL", kPercent, false, true, true},
    {"DCGM_FI_DEV_XID_ERRORS", kOther, false, true, false},
    {"DCGM_FI_DEV_FB_FREE", kMebibytes, false, true, true},
    {"DCGM_FI_DEV_FB_USED", kMebibytes, false, true, true},
    {"DCGM_FI_DEV_FB_RESERVED", kMebibytes, false, true, false},
    {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", kOther, true, true, false},
    {"DCGM_FI_DEV_VGPU_LICENSE_STATUS", kOther, false, true, false},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", kOther, true, true, false},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", kOther, true, true, false},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", kOther, false, true, false},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", kRatio, false, true, true},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", kRatio, false, true, true},
    {"DCGM_FI_PROF_DRAM_ACTIVE", kRatio, false, true, true},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", kOther, false, true, false},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", kOther, false, true, false},
    // Commented lines: nobody exports them until a list of one's own does.
    {"DCGM_FI_PROF_SM_ACTIVE", kRatio, false, false, true},
    {"DCGM_FI_PROF_SM_OCCUPANCY", kRatio, false, false, true},
    {"DCGM_FI_PROF_PIPE_FP64_ACTIVE", kRatio, false, false, true},
    {"DCGM_FI_PROF_PIPE_FP32_ACTIVE", kRatio, false, false, true},
    {"DCGM_FI_PROF_PIPE_FP16_ACTIVE", kRatio, false, false, true},
    {"DCGM_FI_DEV_POWER_VIOLATION", kOther, true, false, false},
    {"DCGM_FI_DEV_THERMAL_VIOLATION", kOther, true, false, false},
    {"DCGM_FI_DEV_SYNC_BOOST_VIOLATION", kOther, true, false, false},
    {"DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", kOther, true, false, false},
    {"DCGM_FI_DEV_LOW_UTIL_VIOLATION", kOther, true, false, false},
    {"DCGM_FI_DEV_RELIABILITY_VIOLATION", kOther, true, false, false},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", kOther, true, false, false},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", kOther, true, false, false},
    {"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", kOther, true, false, false},
    {"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", kOther, true, false, false},
    {"DCGM_FI_DEV_RETIRED_SBE", kOther, true, false, false},
    {"DCGM_FI_DEV_RETIRED_DBE", kOther, true, false, false},
    {"DCGM_FI_DEV_RETIRED_PENDING", kOther, true, false, false},
    {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", kOther, true, false, false},
    {"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", kOther, true, false, false},
    {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", kOther, true, false, false},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", kOther, true, false, false},
    {"DCGM_FI_DEV_NVLINK_BANDWIDTH_L0", kOther, true, false, false},
    {"DCGM_FI_DEV_FB_TOTAL", kMebibytes, false, false, false},
    {"DCGM_FI_DEV_FB_USED_PERCENT", kRatio, false, false, false},
    {"DCGM_FI_DEV_FAN_SPEED", kPercent, false, false, false},
    {"DCGM_FI_DEV_PSTATE", kOther, false, false, false},
    {"DCGM_FI_DEV_BAR1_TOTAL", kMebibytes, false, false, false},
    {"DCGM_FI_DEV_BAR1_USED", kMebibytes, false, false, false},
    {"DCGM_FI_DEV_BAR1_FREE", kMebibytes, false, false, false},
    {"DCGM_FI_DEV_POWER_MGMT_LIMIT", kOther, false, false, false},
    {"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", kOther, false, false, false},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", kOther, false, false, false},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", kOther, false, false, false},
    {"DCGM_FI_DEV_SLOWDOWN_TEMP", kOther, false, false, false},
}};

constexpr std::string_view kUtil = "DCGM_FI_DEV_GPU_UTIL";
constexpr std::string_view kUsed = "DCGM_FI_DEV_FB_USED";
constexpr std::string_view kFree = "DCGM_FI_DEV_FB_FREE";
constexpr std::string_view kShare =
    "DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)";
constexpr std::string_view kSum = "DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE";
constexpr std::string_view kPower = "DCGM_FI_DEV_POWER_USAGE";
constexpr std::string_view kTemp = "DCGM_FI_DEV_GPU_TEMP";

constexpr std::array<WrongMetric, 103> kWrong{{
    {"nvidia_gpu_utilization", kUtil},
    {"nvidia_gpu_utilization_percent", kUtil},
    {"nvidia_gpu_utilization_percentage", kUtil},
    {"nvidia_gpu_utilization_ratio", kUtil},
    {"nvidia_gpu_utilization_gpu", kUtil},
    {"nvidia_gpu_util", kUtil},
    {"nvidia_gpu_usage", kUtil},
    {"nvidia_gpu_memory_utilization", kShare},
    {"nvidia_gpu_memory_utilization_percent", kShare},
    {"nvidia_gpu_memory_usage", kUsed},
    {"nvidia_gpu_memory_usage_bytes", kUsed},
    {"nvidia_gpu_memory_used", kUsed},
    {"nvidia_gpu_memory_free", kFree},
    {"nvidia_gpu_memory_free_bytes", kFree},
    {"nvidia_gpu_memory_total", kSum},
    {"nvidia_gpu_temperature", kTemp},
    {"nvidia_gpu_temp", kTemp},
    {"nvidia_gpu_power_draw", kPower},
    {"nvidia_gpu_power_draw_watts", kPower},
    {"nvidia_gpu_power_usage", kPower},
    {"nvidia_gpu_power_watts", kPower},
    {"nvidia_gpu_power_usage_watts", kPower},
    {"nvidia_gpu_power_consumption", kPower},
    {"nvidia_gpu_power_consumption_watts", kPower},
    {"nvidia_gpu_memory_used_percent", kShare},
    {"nvidia_gpu_memory_used_percentage", kShare},
    {"nvidia_gpu_memory_used_mb", kUsed},
    {"nvidia_gpu_memory_used_mib", kUsed},
    {"nvidia_gpu_memory_total_mb", kSum},
    {"nvidia_gpu_temp_celsius", kTemp},
    {"container_gpu_utilization", kUtil},
    {"container_gpu_memory_used_bytes", kUsed},
    {"nvidia_memory_used_bytes", kUsed},
    {"nvidia_temperature_celsius", kTemp},
    // dcgm-exporter wrote some of these until 2020; the others nobody ever did.
    {"dcgm_gpu_utilization", kUtil},
    {"dcgm_gpu_utilization_percent", kUtil},
    {"dcgm_gpu_util", kUtil},
    {"dcgm_gpu_temp", kTemp},
    {"dcgm_gpu_temperature", kTemp},
    {"dcgm_temperature", kTemp},
    {"dcgm_fb_used", kUsed},
    {"dcgm_fb_used_bytes", kUsed},
    {"dcgm_fb_free", kFree},
    {"dcgm_fb_free_bytes", kFree},
    {"dcgm_memory_used", kUsed},
    {"dcgm_gpu_memory_used", kUsed},
    {"dcgm_gpu_memory_used_bytes", kUsed},
    {"dcgm_gpu_memory_total", kSum},
    {"dcgm_gpu_memory_total_bytes", kSum},
    {"dcgm_gpu_memory_utilization", kShare},
    {"dcgm_power_usage", kPower},
    {"dcgm_gpu_power_usage", kPower},
    {"node_nvidia_gpu_utilization", kUtil},
    {"node_nvidia_gpu_memory_used_bytes", kUsed},
    {"nvidia_gpu_load", kUtil},
    {"nvidia_gpu_power", kPower},
    {"nvidia_gpu_fan_speed", "DCGM_FI_DEV_FAN_SPEED"},
    {"nvidia_gpu_memory_bytes", kUsed},
    {"nvidia_gpu_memory_total_mib", kSum},
    {"DCGM_FI_DEV_TEMP", kTemp, true},
    {"DCGM_FI_DEV_TEMPERATURE_CURRENT", kTemp, true},
    {"DCGM_FI_DEV_POWER", kPower, true},
    {"DCGM_FI_DEV_FB_UTIL", kShare, true},
    {"DCGM_FI_DEV_FB_MEMORY_USED", kUsed, true},
    {"DCGM_FI_DEV_FB_USED_BYTES", kUsed, true},
    {"DCGM_FI_DEV_FB_FREE_BYTES", kFree, true},
    {"DCGM_FI_DEV_MEM_UTILIZATION", kShare, true},
    {"DCGM_FI_DEV_MEMORY_UTILIZATION", kShare, true},
    {"DCGM_FI_DEV_GPU_MEMORY_UTIL", kShare, true},
    {"DCGM_FI_DEV_SM_ACTIVE", "DCGM_FI_PROF_SM_ACTIVE", true},
    {"DCGM_FI_DEV_TENSOR_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", true},
    {"DCGM_FI_DEV_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", true},
    {"DCGM_FI_PROF_TENSOR_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", true},
    {"DCGM_FI_DEV_DRAM_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE", true},
    {"DCGM_FI_DEV_SM_OCCUPANCY", "DCGM_FI_PROF_SM_OCCUPANCY", true},
    {"DCGM_FI_DEV_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", true},
    {"DCGM_FI_PROF_FB_USED", kUsed, true},
    {"DCGM_FI_DEV_XID_ERROR", "DCGM_FI_DEV_XID_ERRORS", true},
    {"DCGM_FI_DEV_XID", "DCGM_FI_DEV_XID_ERRORS", true},
    {"DCGM_FI_DEV_GPU_UTILIZATION", kUtil, true},
    {"DCGM_FI_DEV_UTILIZATION", kUtil, true},
    {"DCGM_FI_DEV_GPU_USAGE", kUtil, true},
    {"DCGM_FI_PROF_GPU_UTIL", kUtil, true},
    {"DCGM_FI_DEV_MEM_USED", kUsed, true},
    {"DCGM_FI_DEV_MEMORY_USED", kUsed, true},
    {"DCGM_FI_DEV_GPU_MEM_USED", kUsed, true},
    {"DCGM_FI_DEV_GPU_MEMORY_USED", kUsed, true},
    {"DCGM_FI_DEV_GPU_MEMORY_USAGE", kUsed, true},
    {"DCGM_FI_DEV_GPU_MEMORY", kUsed, true},
    {"DCGM_FI_DEV_MEM_FREE", kFree, true},
    {"DCGM_FI_DEV_MEMORY_FREE", kFree, true},
    {"DCGM_FI_DEV_GPU_MEMORY_FREE", kFree, true},
    {"DCGM_FI_DEV_MEM_TOTAL", kSum, true},
    {"DCGM_FI_DEV_MEMORY_TOTAL", kSum, true},
    {"DCGM_FI_DEV_GPU_MEM_TOTAL", kSum, true},
    {"DCGM_FI_DEV_GPU_MEMORY_TOTAL", kSum, true},
    {"DCGM_FI_DEV_MEM_UTIL", kShare, true},
    {"DCGM_FI_DEV_MEMORY_UTIL", kShare, true},
    {"DCGM_FI_DEV_GPU_POWER_USAGE", kPower, true},
    {"DCGM_FI_DEV_POWER_DRAW", kPower, true},
    {"DCGM_FI_DEV_GPU_POWER", kPower, true},
    {"DCGM_FI_DEV_TEMPERATURE", kTemp, true},
    {"DCGM_FI_DEV_GPU_TEMPERATURE", kTemp, true},
}};

constexpr std::array<WrongMetric, 6> kOld{{
    {"nvidia_gpu_duty_cycle", kUtil},
    {"nvidia_gpu_memory_used_bytes", kUsed},
    {"nvidia_gpu_memory_total_bytes", kSum},
    {"nvidia_gpu_temperature_celsius", kTemp},
    {"nvidia_gpu_power_usage_milliwatts", kPower},
    {"nvidia_gpu_num_devices", "count(DCGM_FI_DEV_GPU_TEMP)"},
}};

template <class Table>
auto find_in(const Table& table, std::string_view name) -> decltype(table.data()) {
    const auto found = std::find_if(table.begin(), table.end(),
                                    [name](const auto& row) { return row.name == name; });
    return found == table.end() ? nullptr : &*found;
}

}  // namespace

const Metric* find_metric(std::string_view name) { return find_in(kMetrics, name); }
const WrongMetric* find_wrong_metric(std::string_view name) { return find_in(kWrong, name); }
const WrongMetric* find_old_metric(std::string_view name) { return find_in(kOld, name); }

}  // namespace aliquot::lint
