// SPDX-License-Identifier: Apache-2.0
//
// --query-gpu and --query-compute-apps: tables of chosen fields.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "sim/smi/fields.h"

namespace aliquot::sim::smi {
namespace {

constexpr std::array<std::string_view, 10> kProcessFields = {
    "timestamp", "gpu_name",     "gpu_bus_id", "gpu_serial",      "gpu_uuid",
    "pid",       "process_name", "name",       "used_gpu_memory", "used_memory"};

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
    return find_gpu_field(field)->ask(view, gpu);
}

}  // namespace

Output show_query(const View& view, const Request& request, bool first_round) {
    std::vector<const Field*> fields;
    std::vector<std::string> titles;
    for (const std::string& name : request.fields) {
        const Field* const field = find_gpu_field(name);
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

std::string process_field_help() {
    std::string text =
        "List of valid properties to query for the switch \"--query-compute-apps\":\n";
    for (const std::string_view name : kProcessFields) {
        if (name == "name" || name == "used_memory") continue;
        text += "\n\"" + std::string(name) + "\"";
        if (name == "process_name") text += " or \"name\"";
        if (name == "used_gpu_memory") text += " or \"used_memory\"";
        text += name.starts_with("used_") ? "\nIn MiB.\n" : "\nNo unit.\n";
    }
    return text;
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
