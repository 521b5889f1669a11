// SPDX-License-Identifier: Apache-2.0
// The side that talks to NVML. It is a process of its own: a driver that hangs takes it down, and not
// the one who asks.
#include "base/json_text.h"
#include "doctor/facts.h"
#include "doctor/live.h"
#include "document/json.h"
#include "nvml/driver.h"

namespace aliquot::doctor {
namespace {

using document::make_mapping;
using document::make_sequence;
using document::Value;

std::string failure(const Error& error) {
    int code = nvml_code_of(error.message);
    if (code == 0) code = error.code == ErrorCode::kNotFound ? 12 : 999;
    return "{\"error\":" + std::to_string(code) + ",\"message\":" + json_quoted(error.message) +
           "}\n";
}

void add_sample(nvml::Driver& driver, const gpu::Gpu& gpu, Value& node) {
    const auto sample = driver.sample(gpu.uuid);
    if (!sample) return;
    append(node, "memory_used_mib", sample->memory_used_bytes >> 20U);
    append(node, "memory_total_mib", sample->memory_total_bytes >> 20U);
    if (sample->gpu_busy_percent) append(node, "utilization", *sample->gpu_busy_percent);
    if (sample->temperature_celsius) append(node, "temperature", *sample->temperature_celsius);
}

void add_processes(nvml::Driver& driver, const gpu::Gpu& gpu, Value& node) {
    const auto processes = driver.processes(gpu.uuid);
    if (!processes) return;
    append(node, "processes", make_sequence(*processes, [](const gpu::Process& one) {
               return make_mapping(
                   {{"pid", one.pid}, {"memory_mib", one.memory_bytes.value_or(0) >> 20U}});
           }));
}

Value gpu_node(nvml::Driver& driver, const gpu::Gpu& gpu) {
    const char* const mig = gpu.mig_enabled ? "Enabled" : "Disabled";
    Value node =
        make_mapping({{"index", gpu.index},
                      {"uuid", gpu.uuid.text},
                      {"name", gpu.model},
                      {"address", gpu::to_text(gpu.pci)},
                      {"compute_capability",
                       std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor)},
                      {"mig", document::only_if(gpu.mig_capable, make_mapping({{"current", mig}}))},
                      {"problem", document::only_if(!gpu.health.ok(), gpu.health.reason)}});
    if (!gpu.health.ok()) return node;
    add_sample(driver, gpu, node);
    add_processes(driver, gpu, node);
    return node;
}

}  // namespace

std::string answer_nvml_question(const std::string& driver_root) {
    const os::Root root;
    const auto driver = nvml::Driver::open(root, {.driver_root = driver_root});
    if (!driver) return failure(driver.error());
    const auto inventory = (*driver)->enumerate(gpu::Links::kLeaveOut);
    if (!inventory) return failure(inventory.error());
    std::string text = "{\"driver\":" + json_quoted(inventory->driver_version) + ",\"cuda\":\"" +
                       std::to_string(inventory->cuda_version / 1000) + "." +
                       std::to_string(inventory->cuda_version % 1000 / 10) +
                       "\",\"library_path\":" + json_quoted((*driver)->library_path()) +
                       ",\"gpus\":[";
    bool first = true;
    for (const gpu::Gpu& gpu : inventory->gpus) {
        text += (first ? "\n" : ",\n") + document::to_json_line(gpu_node(**driver, gpu));
        first = false;
    }
    return text + "\n]}\n";
}

}  // namespace aliquot::doctor
