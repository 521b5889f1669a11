// SPDX-License-Identifier: Apache-2.0
//
// The fields of --query-gpu: what a GPU is and does.
#include "sim/smi/fields.h"

#include <algorithm>

namespace aliquot::sim::smi {
namespace {

std::string text_cell(const Reading<std::string>& reading) {
    return text_or(reading, query_problem, [](const std::string& value) { return value; });
}

std::string state_cell(const Reading<unsigned>& reading) {
    return text_or(reading, query_problem, enabled_disabled);
}

std::string memory_cell(const Gpu& gpu, std::uint64_t nvmlMemory_v2_t::*part) {
    return text_or(gpu.memory(), query_problem, [part](const auto& m) { return mib(m.*part); });
}

std::string pci_cell(const Gpu& gpu, int digits, std::uint32_t nvmlPciInfo_t::*part) {
    return text_or(gpu.pci(), query_problem,
                   [=](const auto& info) { return print("0x%0*X", digits, info.*part); });
}

std::string reason_cell(const Gpu& gpu, std::uint64_t bits) {
    return text_or(gpu.clock_reasons(), query_problem, [bits](std::uint64_t all) {
        return (all & bits) != 0 ? "Active" : "Not Active";
    });
}

std::string mask(const Reading<unsigned long long>& reading) {
    return text_or(reading, query_problem,
                   [](unsigned long long bits) { return print("0x%016llX", bits); });
}
/// Microseconds that a limit has held the clocks down.
std::string slowed(const Gpu& gpu, nvmlPerfPolicyType_t policy) {
    const auto time = SMI_NUMBER(gpu, nvmlViolationTime_t, nvmlDeviceGetViolationStatus, policy);
    return text_or(time, query_problem,
                   [](const auto& value) { return std::to_string(value.violationTime / 1000); });
}

// clang-format off
constexpr Field kIdentity[] = {
    SMI_FIELD("timestamp", "", "", timestamp_text()),
    SMI_FIELD("driver_version", "", "", view.driver_version),
    SMI_FIELD("vgpu_driver_capability.heterogenous_multivGPU", "", "", absent()),
    SMI_FIELD("count", "", "", std::to_string(view.attached)),
    SMI_FIELD("name", "gpu_name", "", text_cell(gpu.name())),
    SMI_FIELD("serial", "gpu_serial", "", text_cell(gpu.serial())),
    SMI_FIELD("uuid", "gpu_uuid", "", text_cell(gpu.uuid())),
    SMI_FIELD("pci.bus_id", "gpu_bus_id", "", text_cell(gpu.bus_id())),
    SMI_FIELD("pci.domain", "", "", pci_cell(gpu, 4, &nvmlPciInfo_t::domain)),
    SMI_FIELD("pci.bus", "", "", pci_cell(gpu, 2, &nvmlPciInfo_t::bus)),
    SMI_FIELD("pci.device", "", "", pci_cell(gpu, 2, &nvmlPciInfo_t::device)),
    SMI_FIELD("pci.baseClass", "", "", text_or(gpu.pci(), query_problem, [](const auto&) { return "0x3"; })),
    SMI_FIELD("pci.subClass", "", "", text_or(gpu.pci(), query_problem, [](const auto&) { return "0x2"; })),
    SMI_FIELD("pci.device_id", "", "", pci_cell(gpu, 8, &nvmlPciInfo_t::pciDeviceId)),
    SMI_FIELD("pci.sub_device_id", "", "", pci_cell(gpu, 8, &nvmlPciInfo_t::pciSubSystemId)),
    SMI_FIELD("vgpu_device_capability.fractional_multiVgpu", "", "", absent()),
    SMI_FIELD("vgpu_device_capability.heterogeneous_timeSlice_profile", "", "", absent()),
    SMI_FIELD("vgpu_device_capability.heterogeneous_timeSlice_sizes", "", "", absent()),
    SMI_FIELD("vgpu_device_capability.homogeneous_placements", "", "", absent()),
    SMI_FIELD("vgpu_device_capability.mig_timeSlicing", "", "", absent()),
    SMI_FIELD("vgpu_device_capability.mig_timeSlicing_mode", "", "", absent()),
    SMI_FIELD("pcie.link.gen.current", "", "", number_cell(gpu.pcie_generation())),
    SMI_FIELD("pcie.link.gen.gpucurrent", "", "", number_cell(gpu.pcie_generation())),
    SMI_FIELD("pcie.link.gen.max", "", "", number_cell(gpu.max_pcie_generation())),
    SMI_FIELD("pcie.link.gen.gpumax", "", "", number_cell(gpu.max_pcie_generation())),
    SMI_FIELD("pcie.link.gen.hostmax", "", "", absent()),
    SMI_FIELD("pcie.link.width.current", "", "", number_cell(gpu.pcie_width())),
    SMI_FIELD("pcie.link.width.max", "", "", number_cell(gpu.max_pcie_width())),
    SMI_FIELD("index", "", "", std::to_string(gpu.index())),
    SMI_FIELD("display_mode", "", "", state_cell(gpu.display_mode())),
    SMI_FIELD("display_attached", "", "", text_or(gpu.minor(), query_problem, [](unsigned) { return "No"; })),
    SMI_FIELD("display_active", "", "", state_cell(gpu.display_active())),
    SMI_FIELD("persistence_mode", "", "", state_cell(gpu.persistence())),
    SMI_FIELD("addressing_mode", "", "", text_or(gpu.minor(), query_problem, [](unsigned) { return "None"; })),
    SMI_FIELD("accounting.mode", "", "", state_cell(gpu.accounting())),
    SMI_FIELD("accounting.buffer_size", "", "", number_cell(SMI_NUMBER(gpu, unsigned, nvmlDeviceGetAccountingBufferSize))),
    SMI_FIELD("driver_model.current", "", "", absent()),
    SMI_FIELD("driver_model.pending", "", "", absent()),
    SMI_FIELD("vbios_version", "", "", text_cell(gpu.vbios())),
    SMI_FIELD("inforom.img", "inforom.image", "", absent()),
    SMI_FIELD("inforom.oem", "", "", absent()),
    SMI_FIELD("inforom.ecc", "", "", absent()),
    SMI_FIELD("inforom.pwr", "inforom.power", "", absent()),
    SMI_FIELD("inforom.checksum_validation", "", "", absent()),
    SMI_FIELD("gpu_recovery_action", "", "", text_or(gpu.minor(), query_problem, [](unsigned) { return "None"; })),
    SMI_FIELD("gom.current", "gpu_operation_mode.current", "", absent()),
    SMI_FIELD("gom.pending", "gpu_operation_mode.pending", "", absent()),
    SMI_FIELD("fan.speed", "", "%", number_cell(gpu.fan())),
    SMI_FIELD("pstate", "", "", text_or(gpu.performance_state(), query_problem, [](unsigned p) { return "P" + std::to_string(p); })),
    SMI_FIELD("clocks_event_reasons.supported", "clocks_throttle_reasons.supported", "", mask(SMI_NUMBER(gpu, unsigned long long, nvmlDeviceGetSupportedClocksEventReasons))),
    SMI_FIELD("clocks_event_reasons.active", "clocks_throttle_reasons.active", "", mask(SMI_NUMBER(gpu, unsigned long long, nvmlDeviceGetCurrentClocksEventReasons))),
    SMI_FIELD("clocks_event_reasons.gpu_idle", "clocks_throttle_reasons.gpu_idle", "", reason_cell(gpu, nvmlClocksEventReasonGpuIdle)),
    SMI_FIELD("clocks_event_reasons.applications_clocks_setting", "clocks_throttle_reasons.applications_clocks_setting", "", reason_cell(gpu, nvmlClocksEventReasonApplicationsClocksSetting)),
    SMI_FIELD("clocks_event_reasons.sw_power_cap", "clocks_throttle_reasons.sw_power_cap", "", reason_cell(gpu, nvmlClocksEventReasonSwPowerCap)),
    SMI_FIELD("clocks_event_reasons.hw_slowdown", "clocks_throttle_reasons.hw_slowdown", "", reason_cell(gpu, nvmlClocksThrottleReasonHwSlowdown)),
    SMI_FIELD("clocks_event_reasons.hw_thermal_slowdown", "clocks_throttle_reasons.hw_thermal_slowdown", "", reason_cell(gpu, nvmlClocksThrottleReasonHwThermalSlowdown)),
    SMI_FIELD("clocks_event_reasons.hw_power_brake_slowdown", "clocks_throttle_reasons.hw_power_brake_slowdown", "", reason_cell(gpu, nvmlClocksThrottleReasonHwPowerBrakeSlowdown)),
    SMI_FIELD("clocks_event_reasons.sw_thermal_slowdown", "clocks_throttle_reasons.sw_thermal_slowdown", "", reason_cell(gpu, nvmlClocksEventReasonSwThermalSlowdown)),
    SMI_FIELD("clocks_event_reasons.sync_boost", "clocks_throttle_reasons.sync_boost", "", reason_cell(gpu, nvmlClocksEventReasonSyncBoost)),
    SMI_FIELD("clocks_event_reasons_counters.sw_power_cap", "", "us", slowed(gpu, NVML_PERF_POLICY_POWER)),
    SMI_FIELD("clocks_event_reasons_counters.sync_boost", "", "us", slowed(gpu, NVML_PERF_POLICY_SYNC_BOOST)),
    SMI_FIELD("clocks_event_reasons_counters.sw_thermal_slowdown", "", "us", slowed(gpu, NVML_PERF_POLICY_THERMAL)),
    SMI_FIELD("clocks_event_reasons_counters.hw_thermal_slowdown", "", "us", absent()),
    SMI_FIELD("clocks_event_reasons_counters.hw_power_brake_slowdown", "", "us", absent()),
    SMI_FIELD("memory.total", "", "MiB", memory_cell(gpu, &nvmlMemory_v2_t::total)),
    SMI_FIELD("memory.reserved", "", "MiB", memory_cell(gpu, &nvmlMemory_v2_t::reserved)),
    SMI_FIELD("memory.used", "", "MiB", memory_cell(gpu, &nvmlMemory_v2_t::used)),
    SMI_FIELD("memory.free", "", "MiB", memory_cell(gpu, &nvmlMemory_v2_t::free)),
    SMI_FIELD("compute_mode", "", "", text_or(gpu.compute_mode(), query_problem, compute_mode_name)),
    SMI_FIELD("compute_cap", "", "", text_cell(gpu.compute_capability())),
    SMI_FIELD("utilization.gpu", "", "%", text_or(gpu.utilization(), query_problem, [](const auto& u) { return std::to_string(u.gpu); })),
    SMI_FIELD("utilization.memory", "", "%", text_or(gpu.utilization(), query_problem, [](const auto& u) { return std::to_string(u.memory); })),
    SMI_FIELD("utilization.encoder", "", "%", number_cell(gpu.encoder())),
    SMI_FIELD("utilization.decoder", "", "%", number_cell(gpu.decoder())),
    SMI_FIELD("utilization.jpeg", "", "%", number_cell(gpu.jpeg())),
    SMI_FIELD("utilization.ofa", "", "%", number_cell(gpu.flow())),
    SMI_FIELD("encoder.stats.sessionCount", "", "", text_or(gpu.encoder(), query_problem, [](unsigned) { return "0"; })),
    SMI_FIELD("encoder.stats.averageFps", "", "", text_or(gpu.encoder(), query_problem, [](unsigned) { return "0"; })),
    SMI_FIELD("encoder.stats.averageLatency", "", "", text_or(gpu.encoder(), query_problem, [](unsigned) { return "0"; })),
    SMI_FIELD("dramEncryption.mode.current", "", "", absent()),
    SMI_FIELD("dramEncryption.mode.pending", "", "", absent()),
};
// clang-format on

}  // namespace

std::span<const Field> identity_fields() { return kIdentity; }

Reading<unsigned> field_number(const Gpu& gpu, unsigned id) {
    nvmlFieldValue_t value{};
    value.fieldId = id;
    Reading<unsigned> reading;
    reading.code = gpu.problem();
    if (gpu.handle() == nullptr) return reading;
    reading.code = SMI_CALL(gpu.library(), nvmlDeviceGetFieldValues, gpu.handle(), 1, &value);
    if (reading.ok()) reading.code = value.nvmlReturn;
    const bool wide = value.valueType == NVML_VALUE_TYPE_UNSIGNED_LONG_LONG ||
                      value.valueType == NVML_VALUE_TYPE_UNSIGNED_LONG;
    reading.value = wide ? static_cast<unsigned>(value.value.ullVal) : value.value.uiVal;
    return reading;
}

std::string field(const Gpu& gpu, unsigned id) { return number_cell(field_number(gpu, id)); }

const std::vector<Field>& gpu_fields() {
    static const std::vector<Field> kAll = [] {
        std::vector<Field> all;
        for (const auto part : {identity_fields(), memory_health_fields(), power_fields()})
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }();
    return kAll;
}

const Field* find_gpu_field(std::string_view name) {
    const auto& all = gpu_fields();
    const auto found = std::ranges::find_if(
        all, [name](const Field& one) { return one.name == name || one.other == name; });
    return found == all.end() ? nullptr : &*found;
}

std::string field_help() {
    std::string text = "List of valid properties to query for the switch \"--query-gpu\":\n";
    for (const Field& one : gpu_fields()) {
        text += "\n\"" + std::string(one.name) + "\"";
        if (!one.other.empty()) text += " or \"" + std::string(one.other) + "\"";
        text += "\n" + (one.unit.empty() ? "No unit." : "In " + std::string(one.unit) + ".") + "\n";
    }
    return text;
}

}  // namespace aliquot::sim::smi
