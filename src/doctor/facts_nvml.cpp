// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/nvidia_smi.h"
#include "doctor/text.h"
#include "k8s/quantity.h"

namespace aliquot::doctor {
namespace {

/// What NVML's codes are called by the library, nvidia-smi and the container tools; any case.
constexpr std::array<std::pair<std::string_view, int>, 39> kPhrases{{
    {"driver/library version mismatch", 18},
    {"lib_rm_version_mismatch", 18},
    {"version mismatch", 18},
    {"driver not loaded", 9},
    {"driver is not loaded", 9},
    {"driver_not_loaded", 9},
    {"couldn't communicate with the nvidia driver", 9},
    {"could not communicate with the nvidia driver", 9},
    {"library not found", 12},
    {"library_not_found", 12},
    {"couldn't find libnvidia-ml", 12},
    {"libnvidia-ml.so.1: cannot open", 12},
    {"libnvidia-ml.so: cannot open", 12},
    {"libnvidia-ml.so not found", 12},
    {"gpu is lost", 15},
    {"gpu_is_lost", 15},
    {"fallen off the bus", 15},
    {"gpu lost", 15},
    {"requires reset", 16},
    {"requires a reset", 16},
    {"reset_required", 16},
    {"reset required", 16},
    {"needs reset", 16},
    {"needs to be reset", 16},
    {"insufficient permissions", 4},
    {"no_permission", 4},
    {"corrupted inforom", 14},
    {"corrupted_inforom", 14},
    {"inforom is corrupted", 14},
    {"interrupt issue", 11},
    {"irq_issue", 11},
    {"operating_system", 17},
    {"blocked by the operating system", 17},
    {"function not found", 13},
    {"function_not_found", 13},
    {"insufficient resources", 23},
    {"gpu not found", 28},
    {"gpu_not_found", 28},
    {"unknown error", 999},
}};

std::string any_text(const Value& node, std::initializer_list<std::string_view> names) {
    for (const Value::Entry& entry : node.entries) {
        const std::string key = lower(entry.first.scalar);
        for (const std::string_view name : names) {
            if (key != name) continue;
            if (entry.second.is_mapping()) return text_at(entry.second, {"value"});
            if (!entry.second.is_sequence()) return text_of(&entry.second);
        }
    }
    return {};
}

const Value* any_node(const Value& node, std::initializer_list<std::string_view> names) {
    for (const Value::Entry& entry : node.entries) {
        const std::string key = lower(entry.first.scalar);
        for (const std::string_view name : names) {
            if (key == name) return &entry.second;
        }
    }
    return nullptr;
}

std::optional<std::uint64_t> any_number(const Value& node,
                                        std::initializer_list<std::string_view> names) {
    const auto value = leading_number(any_text(node, names));
    if (!value || *value < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*value);
}

std::optional<unsigned> any_count(const Value& node,
                                  std::initializer_list<std::string_view> names) {
    const auto value = any_number(node, names);
    return value ? std::optional(static_cast<unsigned>(*value)) : std::nullopt;
}

std::optional<std::uint64_t> unsigned_of(std::string_view text) {
    const auto value = parse_number<std::int64_t>(text);
    if (!value || *value < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*value);
}

std::optional<bool> any_bool(const Value& node, std::initializer_list<std::string_view> names) {
    const std::string text = lower(any_text(node, names));
    if (text.empty() || text == "n/a") return std::nullopt;
    return text == "true" || text == "enabled" || text == "on" || text == "yes" || text == "1";
}

std::optional<double> any_quantity(const Value& node,
                                   std::initializer_list<std::string_view> names) {
    const std::string text = any_text(node, names);
    const auto words = words_of(text);
    return words.empty() ? std::nullopt : k8s::quantity_value(words[0]);
}

/// {"current":"Enabled","pending":"Disabled"}, or a word for both.
void read_mig(const Value& node, NvmlGpu& gpu) {
    const auto word = [](const std::string& text) {
        const std::string known = lower(text);
        if (known == "1" || known == "true" || known == "enabled") return std::string("Enabled");
        if (known == "0" || known == "false" || known == "disabled") return std::string("Disabled");
        return std::string();
    };
    const Value* const mode = any_node(node, {"mig_mode", "migmode", "mig"});
    if (mode == nullptr) return;
    if (mode->is_mapping()) {
        gpu.mig_current = word(any_text(*mode, {"current", "mode", "current_mig"}));
        gpu.mig_pending = word(any_text(*mode, {"pending", "pending_mig"}));
        const Value* const instances = any_node(*mode, {"instances", "gpu_instances", "devices"});
        if (instances != nullptr && instances->is_sequence()) {
            gpu.mig_instances = static_cast<unsigned>(instances->items.size());
        } else {
            gpu.mig_instances = any_count(*mode, {"instances", "gpu_instances"});
        }
    } else {
        gpu.mig_current = word(mode->scalar);
    }
    const std::string pending = any_text(node, {"mig_pending", "mig_mode_pending", "pending_mig"});
    if (!pending.empty()) gpu.mig_pending = word(pending);
}

void read_memory(const Value& node, NvmlGpu& gpu) {
    const Value* const memory = any_node(node, {"memory", "fb_memory_usage", "framebuffer"});
    const auto mib = [](const Value& from, std::initializer_list<std::string_view> names) {
        const std::string text = any_text(from, names);
        const auto value = leading_number(text);
        if (!value || *value < 0) return std::optional<unsigned>{};
        // A bare number above a million is bytes.
        const bool bytes = *value > 4'000'000;
        return std::optional<unsigned>(static_cast<unsigned>(bytes ? *value >> 20U : *value));
    };
    const Value& from = memory != nullptr && memory->is_mapping() ? *memory : node;
    gpu.memory_used_mib = mib(from, {"used", "memory_used", "memory_used_mib", "used_mib",
                                     "memory_used_bytes", "used_bytes"});
    gpu.memory_total_mib = mib(from, {"total", "memory_total", "memory_total_mib", "total_mib",
                                      "memory_total_bytes", "memory_bytes", "total_bytes"});
}

void read_health(const Value& node, NvmlGpu& gpu) {
    const Value* const ecc = any_node(node, {"ecc", "ecc_errors"});
    const Value& from = ecc != nullptr && ecc->is_mapping() ? *ecc : node;
    gpu.ecc_uncorrected =
        any_number(from, {"uncorrected", "volatile_uncorrected", "ecc_uncorrected", "volatile_dbe",
                          "ecc_volatile_uncorrected", "double_bit", "dbe", "ecc_dbe"});
    gpu.ecc_corrected = any_number(
        from, {"corrected", "volatile_corrected", "ecc_corrected", "ecc_volatile_corrected"});
    const Value* const rows = any_node(node, {"remapped_rows", "row_remap", "row_remapping"});
    const Value& remap = rows != nullptr && rows->is_mapping() ? *rows : node;
    gpu.remap_pending =
        any_bool(remap, {"pending", "remap_pending", "row_remap_pending", "remapped_rows_pending"});
    gpu.remap_failed = any_bool(remap, {"failure", "failed", "remap_failed", "row_remap_failure",
                                        "remapped_rows_failure", "failure_occurred"});
    gpu.pages_pending = any_bool(node, {"retired_pages_pending", "pages_pending"});
    const std::string action = any_text(node, {"recovery_action", "gpu_recovery_action"});
    constexpr std::array<std::string_view, 6> kActions{"None",      "Reset",           "Reboot",
                                                       "Drain P2P", "Drain and Reset", "IMEX"};
    const auto number = parse_number<std::int64_t>(action);
    gpu.recovery_action = number && *number >= 0 && *number < 6
                              ? std::string(kActions.at(static_cast<std::size_t>(*number)))
                              : action;
    const Value* const fabric = any_node(node, {"fabric"});
    gpu.fabric_state = fabric != nullptr && fabric->is_mapping()
                           ? any_text(*fabric, {"state", "status"})
                           : any_text(node, {"fabric_state", "fabric"});
    gpu.license = any_text(node, {"license_status", "vgpu_license", "license"});
    gpu.infrom_corrupt = any_text(node, {"inforom", "inforom_status"});
}

void read_performance(const Value& node, NvmlGpu& gpu) {
    gpu.utilization = any_count(node, {"utilization", "gpu_utilization", "utilization_gpu",
                                       "gpu_util", "utilization_percent"});
    gpu.temperature = any_count(node, {"temperature", "temperature_celsius", "temperature_gpu"});
    gpu.power_limit_w = any_quantity(node, {"power_limit_w", "power_limit", "power_limit_watts"});
    gpu.power_default_w = any_quantity(node, {"power_default_w", "power_default_limit",
                                              "default_power_limit", "power_default_limit_w"});
    gpu.sm_clock_mhz = any_count(node, {"sm_clock_mhz", "clock_sm", "sm_clock"});
    gpu.sm_clock_most_mhz = any_count(node, {"sm_clock_max_mhz", "max_sm_clock", "clock_sm_max"});
    gpu.performance_state = any_text(node, {"performance_state", "pstate"});
    const std::string bits = any_text(node, {"clocks_event_reasons", "throttle_reasons",
                                             "clocks_throttle_reasons", "throttle_bits"});
    if (!bits.empty()) {
        const auto value = bits.starts_with("0x") ? parse_hex(bits) : unsigned_of(bits);
        gpu.throttle_bits = value;
    }
    for (const Value::Entry& entry : entries_at(node, {"throttled_percent"})) {
        if (const auto part = k8s::quantity_value(text_of(&entry.second))) {
            gpu.throttled_percent[entry.first.scalar] = *part;
        }
    }
    gpu.link_width = any_count(node, {"pcie_width", "link_width", "pcie_link_width"});
    gpu.link_width_most = any_count(node, {"pcie_width_max", "max_link_width"});
    gpu.nvlinks_inactive = any_count(node, {"nvlinks_inactive", "nvlink_inactive"});
    gpu.nvlink_errors = any_number(node, {"nvlink_errors"});
    gpu.sm_active = any_quantity(node, {"sm_active", "prof_sm_active"});
}

NvmlGpu gpu_of(const Value& node, unsigned position, const std::string& path) {
    NvmlGpu gpu{.index = any_count(node, {"index", "gpu", "id"}).value_or(position)};
    gpu.uuid = any_text(node, {"uuid", "gpu_uuid"});
    gpu.name = any_text(node, {"name", "model", "product_name"});
    gpu.address = lower(any_text(node, {"pci", "address", "bus_id", "pci_bus_id", "busid", "bdf"}));
    if (const Value* const pci = any_node(node, {"pci"}); pci != nullptr && pci->is_mapping()) {
        gpu.address = lower(any_text(*pci, {"busid", "bus_id", "pci_bus_id"}));
    }
    gpu.place = {path, node.mark.line, std::string(trim(concat({gpu.name, " ", gpu.uuid})))};
    for (const char* const key :
         {"error", "code", "status", "problem", "health", "message", "return", "nvml_return"}) {
        const std::string text = any_text(node, {key});
        const auto number = parse_number<std::int64_t>(text);
        const int code = number ? static_cast<int>(*number) : nvml_code_of(text);
        if (code == 0 || code > 1000) continue;
        gpu.error = code;
        gpu.error_text = number ? "" : text;
        gpu.place.text = std::string(key) + ": " + text;
    }
    if (any_bool(node, {"lost"}).value_or(false)) gpu.error = 15;
    const auto persistence = any_bool(node, {"persistence_mode", "persistence", "persistencemode"});
    gpu.persistence = persistence;
    gpu.compute_mode = any_text(node, {"compute_mode", "computemode"});
    gpu.compute_capability = any_text(node, {"compute_capability", "compute_cap"});
    read_mig(node, gpu);
    read_memory(node, gpu);
    read_health(node, gpu);
    read_performance(node, gpu);
    return gpu;
}

void read_processes(const Value& list, const std::string& path, const std::string& gpu_name,
                    NvmlFacts& nvml) {
    for (const Value& one : list.items) {
        NvmlProcess process;
        process.gpu = gpu_name.empty() ? any_text(one, {"gpu", "gpu_uuid", "uuid"}) : gpu_name;
        process.pid = any_count(one, {"pid"}).value_or(0);
        process.name = any_text(one, {"name", "process_name", "command"});
        process.pod = any_text(one, {"pod"});
        process.memory_mib = any_number(one, {"memory_mib", "used_memory", "memory"}).value_or(0);
        process.utilization = any_count(one, {"utilization", "sm", "sm_util"});
        process.place = {path, one.mark.line,
                         "pid " + std::to_string(process.pid) + " " + process.name};
        nvml.processes.push_back(std::move(process));
    }
}

/// An error of the whole library: a code or words under one of the usual keys.
void read_failure(const Value& root, const std::string& path, NvmlFacts& nvml) {
    for (const char* const key :
         {"error", "init_error", "init", "nvmlinit", "nvml_init", "code", "return", "return_code",
          "result", "status", "message", "error_code", "exit", "nvml_return"}) {
        const Value* const node = any_node(root, {key});
        if (node == nullptr) continue;
        const Value& from = *node;
        const std::string text = from.is_mapping()
                                     ? any_text(from, {"code", "error", "message", "text"})
                                     : text_of(&from);
        const auto number = parse_number<std::int64_t>(text);
        const bool exit_code = std::string_view(key) == "exit";
        const int code = number && !exit_code ? static_cast<int>(*number) : nvml_code_of(text);
        if (code <= 0) continue;
        nvml.state = NvmlFacts::State::kFailed;
        nvml.code = code;
        nvml.message = number ? any_text(root, {"message", "text", "error_text"}) : text;
        nvml.place = {path, from.mark.line, std::string(key) + ": " + text};
        return;
    }
    if (any_bool(root, {"timeout", "hung", "timed_out"}).value_or(false)) {
        nvml.state = NvmlFacts::State::kHung;
        nvml.place = {path, 0, "the call did not come back"};
    }
}

void read_json(Facts& facts, const std::string& path, const std::string& text) {
    NvmlFacts& nvml = facts.nvml;
    const auto root = document::parse_object(text);
    if (!root || !(root->is_mapping() || root->is_sequence())) {
        // A file of that name may hold what nvidia-smi printed.
        read_nvidia_smi(nvml, path, text);
        return;
    }
    nvml.place = {path, 0, ""};
    nvml.driver = any_text(*root, {"driver", "driver_version", "driverversion"});
    nvml.library = any_text(*root, {"library", "nvml_version", "library_version", "nvmlversion"});
    nvml.cuda = any_text(*root, {"cuda", "cuda_version", "cuda_driver_version"});
    if (const auto packed = parse_number<std::int64_t>(nvml.cuda); packed && *packed >= 1000) {
        nvml.cuda = std::to_string(*packed / 1000) + "." + std::to_string(*packed % 1000 / 10);
    }
    const Value* list = root->is_sequence() ? &*root : any_node(*root, {"gpus", "devices", "gpu"});
    if (list != nullptr && (list->is_sequence())) {
        nvml.state = NvmlFacts::State::kOk;
        for (const Value& one : list->items) {
            nvml.gpus.push_back(gpu_of(one, static_cast<unsigned>(nvml.gpus.size()), path));
            if (const Value* const processes = any_node(one, {"processes"})) {
                read_processes(*processes, path, nvml.gpus.back().uuid, nvml);
            }
        }
    }
    read_failure(*root, path, nvml);
    if (const Value* const processes = any_node(*root, {"processes"})) {
        read_processes(*processes, path, "", nvml);
    }
}

}  // namespace

int nvml_code_of(std::string_view text) {
    const std::string folded = lower(text);
    for (const auto& [phrase, code] : kPhrases) {
        if (folded.contains(phrase)) return code;
    }
    return 0;
}

void read_nvml(Facts& facts) {
    NvmlFacts& nvml = facts.nvml;
    for (const std::string& path : facts.tree.paths("cmd/nvml*")) {
        const Entry* const entry = facts.tree.find(path);
        if (entry->kind == Entry::Kind::kUnreadable) nvml.reason = path + ": " + entry->content;
        if (entry->kind == Entry::Kind::kFile && !trim(entry->content).empty()) {
            read_json(facts, path, entry->content);
        }
    }
    for (const std::string& path : facts.tree.paths("cmd/nvidia-smi*")) {
        const std::string* const text = facts.tree.text(path);
        if (text != nullptr) read_nvidia_smi(nvml, path, *text);
    }
}

}  // namespace aliquot::doctor
