// SPDX-License-Identifier: Apache-2.0
//
// --query-gpu and --query-compute-apps: tables of chosen fields.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "sim/smi/show.h"
#include "sim/smi/text.h"

namespace aliquot::sim::smi {
namespace {

/// A field's value without its unit; a problem in brackets.
using Ask = std::string (*)(const View&, const Gpu&);

struct Field {
    std::string_view name;
    std::string_view unit;  // empty: none
    Ask ask;
};

template <class T>
std::string number_cell(const Reading<T>& reading) {
    return text_or(reading, query_problem, [](const T& value) { return std::to_string(value); });
}
std::string text(const Reading<std::string>& reading) {
    return text_or(reading, query_problem, [](const std::string& value) { return value; });
}
std::string state(const Reading<unsigned>& reading) {
    return text_or(reading, query_problem, enabled_disabled);
}
std::string current(const Reading<Modes>& reading) {
    return text_or(reading, query_problem,
                   [](const Modes& m) { return enabled_disabled(m.current); });
}
std::string pending(const Reading<Modes>& reading) {
    return text_or(reading, query_problem,
                   [](const Modes& m) { return enabled_disabled(m.pending); });
}
std::string power(const Reading<unsigned>& reading) {
    return text_or(reading, query_problem, watts);
}
std::string memory(const Gpu& gpu, std::uint64_t nvmlMemory_v2_t::*part) {
    return text_or(gpu.memory(), query_problem, [part](const auto& m) { return mib(m.*part); });
}
std::string pci(const Gpu& gpu, int digits, std::uint32_t nvmlPciInfo_t::*part) {
    return text_or(gpu.pci(), query_problem,
                   [=](const auto& info) { return print("0x%0*X", digits, info.*part); });
}
std::string reasons(const Gpu& gpu, std::uint64_t bits) {
    return text_or(gpu.clock_reasons(), query_problem, [bits](std::uint64_t all) {
        return (all & bits) != 0 ? "Active" : "Not Active";
    });
}
std::string errors(const Gpu& gpu, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter) {
    return number_cell(gpu.ecc_errors(type, counter));
}

#define SMI_FIELD(name, unit, expression)                                 \
    Field {                                                               \
        name, unit, [](const View& view, const Gpu& gpu) -> std::string { \
            (void)view;                                                   \
            (void)gpu;                                                    \
            return expression;                                            \
        }                                                                 \
    }

// clang-format off
constexpr Field kFields[] = {
    SMI_FIELD("timestamp", "", timestamp_text()),
    SMI_FIELD("driver_version", "", view.driver_version),
    SMI_FIELD("count", "", std::to_string(view.attached)),
    SMI_FIELD("index", "", std::to_string(gpu.index())),
    SMI_FIELD("name", "", text(gpu.name())),
    SMI_FIELD("gpu_name", "", text(gpu.name())),
    SMI_FIELD("uuid", "", text(gpu.uuid())),
    SMI_FIELD("gpu_uuid", "", text(gpu.uuid())),
    SMI_FIELD("serial", "", text(gpu.serial())),
    SMI_FIELD("gpu_serial", "", text(gpu.serial())),
    SMI_FIELD("vbios_version", "", text(gpu.vbios())),
    SMI_FIELD("board_part_number", "", text(gpu.part_number())),
    SMI_FIELD("pci.bus_id", "", text(gpu.bus_id())),
    SMI_FIELD("gpu_bus_id", "", text(gpu.bus_id())),
    SMI_FIELD("pci.domain", "", pci(gpu, 4, &nvmlPciInfo_t::domain)),
    SMI_FIELD("pci.bus", "", pci(gpu, 2, &nvmlPciInfo_t::bus)),
    SMI_FIELD("pci.device", "", pci(gpu, 2, &nvmlPciInfo_t::device)),
    SMI_FIELD("pci.device_id", "", pci(gpu, 8, &nvmlPciInfo_t::pciDeviceId)),
    SMI_FIELD("pci.sub_device_id", "", pci(gpu, 8, &nvmlPciInfo_t::pciSubSystemId)),
    SMI_FIELD("pcie.link.gen.current", "", number_cell(gpu.pcie_generation())),
    SMI_FIELD("pcie.link.gen.gpucurrent", "", number_cell(gpu.pcie_generation())),
    SMI_FIELD("pcie.link.gen.max", "", number_cell(gpu.max_pcie_generation())),
    SMI_FIELD("pcie.link.width.current", "", number_cell(gpu.pcie_width())),
    SMI_FIELD("pcie.link.width.max", "", number_cell(gpu.max_pcie_width())),
    SMI_FIELD("compute_cap", "", text(gpu.compute_capability())),
    SMI_FIELD("compute_mode", "", text_or(gpu.compute_mode(), query_problem, compute_mode_name)),
    SMI_FIELD("persistence_mode", "", state(gpu.persistence())),
    SMI_FIELD("accounting.mode", "", state(gpu.accounting())),
    SMI_FIELD("display_active", "", state(gpu.display_active())),
    SMI_FIELD("display_mode", "", state(gpu.display_mode())),
    SMI_FIELD("pstate", "", text_or(gpu.performance_state(), query_problem, [](unsigned p) { return "P" + std::to_string(p); })),
    SMI_FIELD("fan.speed", "%", number_cell(gpu.fan())),
    SMI_FIELD("memory.total", "MiB", memory(gpu, &nvmlMemory_v2_t::total)),
    SMI_FIELD("memory.reserved", "MiB", memory(gpu, &nvmlMemory_v2_t::reserved)),
    SMI_FIELD("memory.used", "MiB", memory(gpu, &nvmlMemory_v2_t::used)),
    SMI_FIELD("memory.free", "MiB", memory(gpu, &nvmlMemory_v2_t::free)),
    SMI_FIELD("utilization.gpu", "%", text_or(gpu.utilization(), query_problem, [](const auto& u) { return std::to_string(u.gpu); })),
    SMI_FIELD("utilization.memory", "%", text_or(gpu.utilization(), query_problem, [](const auto& u) { return std::to_string(u.memory); })),
    SMI_FIELD("utilization.encoder", "%", number_cell(gpu.encoder())),
    SMI_FIELD("utilization.decoder", "%", number_cell(gpu.decoder())),
    SMI_FIELD("temperature.gpu", "", number_cell(gpu.temperature())),
    SMI_FIELD("power.draw", "W", power(gpu.power())),
    SMI_FIELD("power.draw.average", "W", power(gpu.power())),
    SMI_FIELD("power.draw.instant", "W", power(gpu.power())),
    SMI_FIELD("power.limit", "W", power(gpu.power_limit())),
    SMI_FIELD("enforced.power.limit", "W", power(gpu.power_limit())),
    SMI_FIELD("power.default_limit", "W", power(gpu.power_default_limit())),
    SMI_FIELD("power.min_limit", "W", text_or(gpu.power_limits(), query_problem, [](const Modes& m) { return watts(m.current); })),
    SMI_FIELD("power.max_limit", "W", text_or(gpu.power_limits(), query_problem, [](const Modes& m) { return watts(m.pending); })),
    SMI_FIELD("clocks.current.graphics", "MHz", number_cell(gpu.clock(NVML_CLOCK_GRAPHICS))),
    SMI_FIELD("clocks.gr", "MHz", number_cell(gpu.clock(NVML_CLOCK_GRAPHICS))),
    SMI_FIELD("clocks.current.sm", "MHz", number_cell(gpu.clock(NVML_CLOCK_SM))),
    SMI_FIELD("clocks.sm", "MHz", number_cell(gpu.clock(NVML_CLOCK_SM))),
    SMI_FIELD("clocks.current.memory", "MHz", number_cell(gpu.clock(NVML_CLOCK_MEM))),
    SMI_FIELD("clocks.mem", "MHz", number_cell(gpu.clock(NVML_CLOCK_MEM))),
    SMI_FIELD("clocks.current.video", "MHz", number_cell(gpu.clock(NVML_CLOCK_VIDEO))),
    SMI_FIELD("clocks.video", "MHz", number_cell(gpu.clock(NVML_CLOCK_VIDEO))),
    SMI_FIELD("clocks.max.graphics", "MHz", number_cell(gpu.max_clock(NVML_CLOCK_GRAPHICS))),
    SMI_FIELD("clocks.max.gr", "MHz", number_cell(gpu.max_clock(NVML_CLOCK_GRAPHICS))),
    SMI_FIELD("clocks.max.sm", "MHz", number_cell(gpu.max_clock(NVML_CLOCK_SM))),
    SMI_FIELD("clocks.max.memory", "MHz", number_cell(gpu.max_clock(NVML_CLOCK_MEM))),
    SMI_FIELD("clocks.max.mem", "MHz", number_cell(gpu.max_clock(NVML_CLOCK_MEM))),
    SMI_FIELD("clocks.applications.graphics", "MHz", number_cell(gpu.application_clock(NVML_CLOCK_GRAPHICS))),
    SMI_FIELD("clocks.applications.memory", "MHz", number_cell(gpu.application_clock(NVML_CLOCK_MEM))),
    SMI_FIELD("clocks_event_reasons.gpu_idle", "", reasons(gpu, nvmlClocksEventReasonGpuIdle)),
    SMI_FIELD("clocks_event_reasons.sw_power_cap", "", reasons(gpu, nvmlClocksEventReasonSwPowerCap)),
    SMI_FIELD("clocks_event_reasons.hw_slowdown", "", reasons(gpu, nvmlClocksThrottleReasonHwSlowdown)),
    SMI_FIELD("clocks_event_reasons.hw_thermal_slowdown", "", reasons(gpu, nvmlClocksThrottleReasonHwThermalSlowdown)),
    SMI_FIELD("clocks_event_reasons.sw_thermal_slowdown", "", reasons(gpu, nvmlClocksEventReasonSwThermalSlowdown)),
    SMI_FIELD("ecc.mode.current", "", current(gpu.ecc_mode())),
    SMI_FIELD("ecc.mode.pending", "", pending(gpu.ecc_mode())),
    SMI_FIELD("ecc.errors.corrected.volatile.total", "", errors(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC)),
    SMI_FIELD("ecc.errors.corrected.aggregate.total", "", errors(gpu, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC)),
    SMI_FIELD("ecc.errors.uncorrected.volatile.total", "", errors(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC)),
    SMI_FIELD("ecc.errors.uncorrected.aggregate.total", "", errors(gpu, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC)),
    SMI_FIELD("mig.mode.current", "", current(gpu.mig_mode())),
    SMI_FIELD("mig.mode.pending", "", pending(gpu.mig_mode())),
};
// clang-format on

constexpr std::array<std::string_view, 10> kProcessFields = {
    "timestamp", "gpu_name",     "gpu_bus_id", "gpu_serial",      "gpu_uuid",
    "pid",       "process_name", "name",       "used_gpu_memory", "used_memory"};

const Field* find_field(std::string_view name) {
    const auto field = std::ranges::find(kFields, name, &Field::name);
    return field == std::end(kFields) ? nullptr : field;
}

Output unknown_field(const std::string& name) {
    return {"Field \"" + name + "\" is not a valid field to query.\n\n", 2};
}

std::string with_unit(const std::string& value, std::string_view unit, bool units) {
    const bool problem = value.starts_with('[');
    return unit.empty() || !units || problem ? value : value + " " + std::string(unit);
}

std::string title(std::string_view name, std::string_view unit) {
    return std::string(name) + (unit.empty() ? "" : " [" + std::string(unit) + "]");
}

std::string process_value(const std::string& field, const View& view, const Gpu& gpu,
                          const Process& process, bool units) {
    if (field == "pid") return std::to_string(process.pid);
    if (field == "process_name" || field == "name") return process_name(view.library, process.pid);
    if (field == "used_gpu_memory" || field == "used_memory") {
        if (process.memory_bytes == NVML_VALUE_NOT_AVAILABLE) return "[N/A]";
        return with_unit(mib(process.memory_bytes), "MiB", units);
    }
    return find_field(field)->ask(view, gpu);
}

}  // namespace

Output show_query(const View& view, const Request& request, bool first_round) {
    std::vector<const Field*> fields;
    std::vector<std::string> titles;
    for (const std::string& name : request.fields) {
        const Field* const field = find_field(name);
        if (field == nullptr) return unknown_field(name);
        fields.push_back(field);
        titles.push_back(title(name, field->unit));
    }
    Output output;
    if (request.header && first_round) output.text = join(titles) + "\n";
    for (const Gpu& gpu : view.gpus) {
        if (gpu.problem() != NVML_SUCCESS) continue;
        std::vector<std::string> values;
        values.reserve(fields.size());
        for (const Field* field : fields) {
            values.push_back(with_unit(field->ask(view, gpu), field->unit, request.units));
        }
        output.text += join(values) + "\n";
    }
    return output;
}

Output show_process_query(const View& view, const Request& request, bool first_round) {
    std::vector<std::string> titles;
    for (const std::string& name : request.fields) {
        if (std::ranges::find(kProcessFields, name) == kProcessFields.end())
            return unknown_field(name);
        const bool memory_field = name.starts_with("used_");
        titles.push_back(
            title(name == "used_memory" ? "used_gpu_memory" : name, memory_field ? "MiB" : ""));
    }
    Output output;
    if (request.header && first_round) output.text = join(titles) + "\n";
    for (const Gpu& gpu : view.gpus) {
        for (const Process& process : gpu.processes().value) {
            if (process.type == "G") continue;
            std::vector<std::string> values;
            for (const std::string& field : request.fields) {
                values.push_back(process_value(field, view, gpu, process, request.units));
            }
            output.text += join(values) + "\n";
        }
    }
    return output;
}

}  // namespace aliquot::sim::smi
