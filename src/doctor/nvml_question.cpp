// SPDX-License-Identifier: Apache-2.0
// The side that talks to NVML. It is a process of its own: a driver that hangs takes it down, and not
// the one who asks.
#include "base/json_text.h"
#include "doctor/facts.h"
#include "doctor/live.h"
#include "nvml/driver.h"

namespace aliquot::doctor {
namespace {

std::string failure(const Error& error) {
    int code = nvml_code_of(error.message);
    if (code == 0) code = error.code == ErrorCode::kNotFound ? 12 : 999;
    return "{\"error\":" + std::to_string(code) + ",\"message\":" + json_quoted(error.message) +
           "}\n";
}

std::string sample_text(nvml::Driver& driver, const gpu::Gpu& gpu) {
    const auto sample = driver.sample(gpu.uuid);
    if (!sample) return {};
    std::string text = ",\"memory_used_mib\":" + std::to_string(sample->memory_used_bytes >> 20U) +
                       ",\"memory_total_mib\":" + std::to_string(sample->memory_total_bytes >> 20U);
    if (sample->gpu_busy_percent) {
        text += ",\"utilization\":" + std::to_string(*sample->gpu_busy_percent);
    }
    if (sample->temperature_celsius) {
        text += ",\"temperature\":" + std::to_string(*sample->temperature_celsius);
    }
    return text;
}

std::string process_text(nvml::Driver& driver, const gpu::Gpu& gpu) {
    const auto processes = driver.processes(gpu.uuid);
    if (!processes) return {};
    std::string text = ",\"processes\":[";
    bool first = true;
    for (const gpu::Process& one : *processes) {
        text += first ? "" : ",";
        text += "{\"pid\":" + std::to_string(one.pid) +
                ",\"memory_mib\":" + std::to_string(one.memory_bytes.value_or(0) >> 20U) + "}";
        first = false;
    }
    return text + "]";
}

std::string gpu_text(nvml::Driver& driver, const gpu::Gpu& gpu) {
    std::string text =
        "{\"index\":" + std::to_string(gpu.index) + ",\"uuid\":" + json_quoted(gpu.uuid.text) +
        ",\"name\":" + json_quoted(gpu.model) +
        ",\"address\":" + json_quoted(gpu::to_text(gpu.pci)) + ",\"compute_capability\":\"" +
        std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor) + "\"";
    if (gpu.mig_capable) {
        text += std::string(",\"mig\":{\"current\":\"") +
                (gpu.mig_enabled ? "Enabled" : "Disabled") + "\"}";
    }
    if (!gpu.health.ok()) return text + ",\"problem\":" + json_quoted(gpu.health.reason) + "}";
    return text + sample_text(driver, gpu) + process_text(driver, gpu) + "}";
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
        text += (first ? "\n" : ",\n") + gpu_text(**driver, gpu);
        first = false;
    }
    return text + "\n]}\n";
}

}  // namespace aliquot::doctor
