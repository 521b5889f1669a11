// SPDX-License-Identifier: Apache-2.0
//
// The fields of --query-gpu: temperature, power, clocks, partitions and links.
#include "sim/smi/fields.h"

namespace aliquot::sim::smi {
namespace {

std::string mig_now(const Reading<Modes>& reading) {
    return text_or(reading, query_problem,
                   [](const Modes& m) { return enabled_disabled(m.current); });
}

std::string mig_next(const Reading<Modes>& reading) {
    return text_or(reading, query_problem,
                   [](const Modes& m) { return enabled_disabled(m.pending); });
}

std::string power_cell(const Reading<unsigned>& reading) {
    return text_or(reading, query_problem, watts);
}

/// How far a GPU is below the temperature at which it slows down.
std::string below_limit(const Gpu& gpu) {
    const auto now = gpu.temperature();
    const auto limit = gpu.threshold(NVML_TEMPERATURE_THRESHOLD_GPU_MAX);
    if (!now.ok() || !limit.ok()) return absent();
    return std::to_string(static_cast<int>(limit.value) - static_cast<int>(now.value));
}
/// GPUs since Turing run most of their driver themselves.
std::string gsp(const Gpu& gpu) {
    constexpr unsigned kTuring = 6;
    const auto architecture = gpu.architecture();
    if (!architecture.ok()) return query_problem(architecture.code);
    return architecture.value >= kTuring ? "Enabled" : absent();
}
std::string fabric_state(const Gpu& gpu) {
    const auto info = SMI_NUMBER(gpu, nvmlGpuFabricInfo_t, nvmlDeviceGetGpuFabricInfo);
    if (!info.ok()) return query_problem(info.code);
    if (info.value.state == NVML_GPU_FABRIC_STATE_COMPLETED) return "Completed";
    if (info.value.state == NVML_GPU_FABRIC_STATE_IN_PROGRESS) return "In Progress";
    if (info.value.state == NVML_GPU_FABRIC_STATE_NOT_STARTED) return "Not Started";
    return "N/A";
}

// clang-format off
constexpr Field kPower[] = {
    SMI_FIELD("temperature.gpu", "", "", number_cell(gpu.temperature())),
    SMI_FIELD("temperature.gpu.tlimit", "", "", below_limit(gpu)),
    SMI_FIELD("temperature.memory", "", "", field(gpu, NVML_FI_DEV_MEMORY_TEMP)),
    SMI_FIELD("power.management", "", "", text_or(gpu.power(), query_problem, [](unsigned) { return "Supported"; })),
    SMI_FIELD("power.draw", "", "W", power_cell(gpu.power())),
    SMI_FIELD("power.draw.average", "gpu.power.draw.average", "W", power_cell(gpu.power())),
    SMI_FIELD("power.draw.instant", "gpu.power.draw.instant", "W", power_cell(gpu.power())),
    SMI_FIELD("power.limit", "gpu.power.requested_limit", "W", power_cell(gpu.power_limit())),
    SMI_FIELD("enforced.power.limit", "gpu.power.current_limit", "W", power_cell(gpu.power_limit())),
    SMI_FIELD("power.default_limit", "gpu.power.default_limit", "W", power_cell(gpu.power_default_limit())),
    SMI_FIELD("power.min_limit", "gpu.power.min_limit", "W", text_or(gpu.power_limits(), query_problem, [](const Modes& m) { return watts(m.current); })),
    SMI_FIELD("power.max_limit", "gpu.power.max_limit", "W", text_or(gpu.power_limits(), query_problem, [](const Modes& m) { return watts(m.pending); })),
    SMI_FIELD("module.power.draw.average", "", "W", absent()),
    SMI_FIELD("module.power.draw.instant", "", "W", absent()),
    SMI_FIELD("module.power.limit", "module.power.requested_limit", "W", absent()),
    SMI_FIELD("module.enforced.power.limit", "module.power.current_limit", "W", absent()),
    SMI_FIELD("module.power.default_limit", "", "W", absent()),
    SMI_FIELD("module.power.min_limit", "", "W", absent()),
    SMI_FIELD("module.power.max_limit", "", "W", absent()),
    SMI_FIELD("power_smoothing.delayed_power_smoothing_supported", "", "", absent()),
    SMI_FIELD("power_smoothing.primary_power_floor", "", "W", absent()),
    SMI_FIELD("power_smoothing.secondary_power_floor", "", "W", absent()),
    SMI_FIELD("power_smoothing.min_primary_floor_activation_offset", "", "W", absent()),
    SMI_FIELD("power_smoothing.min_primary_floor_activation_point", "", "W", absent()),
    SMI_FIELD("power_smoothing.window_multiplier", "", "ms", absent()),
    SMI_FIELD("power_smoothing.curr_profile.secondary_power_floor", "", "W", absent()),
    SMI_FIELD("power_smoothing.curr_profile.primary_floor_act_window_multiplier", "", "", absent()),
    SMI_FIELD("power_smoothing.curr_profile.primary_floor_tar_window_multiplier", "", "", absent()),
    SMI_FIELD("power_smoothing.curr_profile.primary_floor_act_offset", "", "W", absent()),
    SMI_FIELD("power_smoothing.admin_override.secondary_power_floor", "", "W", absent()),
    SMI_FIELD("power_smoothing.admin_override.primary_floor_act_window_multiplier", "", "", absent()),
    SMI_FIELD("power_smoothing.admin_override.primary_floor_tar_window_multiplier", "", "", absent()),
    SMI_FIELD("power_smoothing.admin_override.primary_floor_act_offset", "", "W", absent()),
    SMI_FIELD("edpp_multiplier", "", "%", absent()),
    SMI_FIELD("clocks.current.graphics", "clocks.gr", "MHz", number_cell(gpu.clock(NVML_CLOCK_GRAPHICS))),
    SMI_FIELD("clocks.current.sm", "clocks.sm", "MHz", number_cell(gpu.clock(NVML_CLOCK_SM))),
    SMI_FIELD("clocks.current.memory", "clocks.mem", "MHz", number_cell(gpu.clock(NVML_CLOCK_MEM))),
    SMI_FIELD("clocks.current.video", "clocks.video", "MHz", number_cell(gpu.clock(NVML_CLOCK_VIDEO))),
    SMI_FIELD("clocks.applications.graphics", "clocks.applications.gr", "MHz", number_cell(gpu.application_clock(NVML_CLOCK_GRAPHICS))),
    SMI_FIELD("clocks.applications.memory", "clocks.applications.mem", "MHz", number_cell(gpu.application_clock(NVML_CLOCK_MEM))),
    SMI_FIELD("clocks.default_applications.graphics", "clocks.default_applications.gr", "MHz", number_cell(gpu.application_clock(NVML_CLOCK_GRAPHICS))),
    SMI_FIELD("clocks.default_applications.memory", "clocks.default_applications.mem", "MHz", number_cell(gpu.application_clock(NVML_CLOCK_MEM))),
    SMI_FIELD("clocks.max.graphics", "clocks.max.gr", "MHz", number_cell(gpu.max_clock(NVML_CLOCK_GRAPHICS))),
    SMI_FIELD("clocks.max.sm", "", "MHz", number_cell(gpu.max_clock(NVML_CLOCK_SM))),
    SMI_FIELD("clocks.max.memory", "clocks.max.mem", "MHz", number_cell(gpu.max_clock(NVML_CLOCK_MEM))),
    SMI_FIELD("mig.mode.current", "", "", mig_now(gpu.mig_mode())),
    SMI_FIELD("mig.mode.pending", "", "", mig_next(gpu.mig_mode())),
    SMI_FIELD("gsp.mode.current", "", "", gsp(gpu)),
    SMI_FIELD("gsp.mode.default", "", "", gsp(gpu)),
    SMI_FIELD("c2c.mode", "", "", text_or(gpu.minor(), query_problem, [](unsigned) { return "Disabled"; })),
    SMI_FIELD("protected_memory.total", "", "MiB", absent()),
    SMI_FIELD("protected_memory.used", "", "MiB", absent()),
    SMI_FIELD("protected_memory.free", "", "MiB", absent()),
    SMI_FIELD("fabric.state", "", "", fabric_state(gpu)),
    SMI_FIELD("fabric.status", "", "", fabric_state(gpu) == "Completed" ? "Success" : fabric_state(gpu)),
    SMI_FIELD("fabric.cliqueId", "", "", absent()),
    SMI_FIELD("fabric.clusterUuid", "", "", absent()),
    SMI_FIELD("fabric.health.summary", "", "", absent()),
    SMI_FIELD("fabric.health.bandwidth", "", "", absent()),
    SMI_FIELD("fabric.health.route_recovery_in_progress", "", "", absent()),
    SMI_FIELD("fabric.health.route_unhealthy", "", "", absent()),
    SMI_FIELD("fabric.health.access_timeout_recovery", "", "", absent()),
    SMI_FIELD("fabric.health.incorrect_configuration", "", "", absent()),
    SMI_FIELD("platform.chassis_serial_number", "", "", absent()),
    SMI_FIELD("platform.slot_number", "", "", absent()),
    SMI_FIELD("platform.tray_index", "", "", absent()),
    SMI_FIELD("platform.host_id", "", "", absent()),
    SMI_FIELD("platform.peer_type", "", "", absent()),
    SMI_FIELD("platform.module_id", "", "", absent()),
    SMI_FIELD("platform.gpu_fabric_guid", "", "", absent()),
    SMI_FIELD("hostname", "", "", absent()),
};
// clang-format on

}  // namespace

std::span<const Field> power_fields() { return kPower; }

}  // namespace aliquot::sim::smi
