// SPDX-License-Identifier: Apache-2.0
#include "gate/observe.h"

#include <algorithm>

namespace aliquot::gate {
namespace {

/// source   NVML, nvmlClocksEventReasonApplicationsClocksSetting
constexpr std::uint64_t kApplicationClocks = 0x2;

bool is_wanted(const gpu::Gpu& gpu, const std::vector<std::string>& only) {
    return only.empty() || std::ranges::any_of(only, [&](const std::string& word) {
               return word == gpu.uuid.text || word == std::to_string(gpu.index);
           });
}

void add_reading(const gpu::Reading& reading, GpuState& state) {
    using gpu::Metric;
    const auto& metrics = reading.metrics;
    state.memory_used_bytes = metrics.whole(Metric::kMemoryUsedBytes).value_or(0);
    state.ecc_uncorrected = metrics.whole(Metric::kEccUncorrectedVolatile);
    if (const auto action = metrics.whole(Metric::kRecoveryAction)) {
        state.recovery_action = static_cast<unsigned>(*action);
    }
    state.clocks_set =
        (metrics.whole(Metric::kClockEventReasons).value_or(0) & kApplicationClocks) != 0;
    state.power_limit_milliwatts = metrics.whole(Metric::kPowerLimitMilliwatts);
    if (!reading.processes) return;
    for (const auto& process : *reading.processes) state.processes.push_back(process.pid);
    std::ranges::sort(state.processes);
    state.processes.erase(std::unique(state.processes.begin(), state.processes.end()),
                          state.processes.end());
}

void add_condition(const gpu::Probe& probe, GpuState& state) {
    if (!state.problem.empty()) return;
    if (!probe.answers) state.problem = probe.problem;
    if (probe.condition.remap_failed.value_or(false)) {
        state.problem = "no spare rows of memory are left";
    }
    if (!state.recovery_action) state.recovery_action = probe.recovery_action;
}

}  // namespace

Result<NodeState> observe(gpu::Sensors& sensors, gpu::Meters& meters,
                          const std::vector<std::string>& only,
                          std::chrono::milliseconds deadline) {
    const auto inventory = sensors.enumerate(gpu::Links::kLeaveOut);
    if (!inventory) return inventory.error();
    NodeState node;
    std::vector<gpu::MeterQuestion> questions;
    std::vector<gpu::Uuid> uuids;
    for (const gpu::Gpu& gpu : inventory->gpus) {
        if (!is_wanted(gpu, only)) continue;
        GpuState state{.uuid = gpu.uuid.text, .index = gpu.index, .mig_enabled = gpu.mig_enabled};
        if (!gpu.health.ok()) state.problem = gpu.health.reason;
        for (const gpu::MigDevice& device : gpu.mig_devices) {
            state.mig_devices.push_back(device.profile + "@" +
                                        std::to_string(device.placement.start));
        }
        questions.push_back({.gpu = gpu.uuid});
        uuids.push_back(gpu.uuid);
        node.push_back(std::move(state));
    }
    for (const std::string& word : only) {
        const bool is_there = std::ranges::any_of(
            inventory->gpus, [&](const gpu::Gpu& gpu) { return is_wanted(gpu, {word}); });
        if (!is_there) {
            return Error{ErrorCode::kInvalidInput, "there is no GPU '" + word + "' on this node"};
        }
    }
    if (node.empty()) return Error{ErrorCode::kNotFound, "this node has no GPU"};
    const auto readings = meters.read(questions, deadline);
    const auto probes = sensors.probe(uuids);
    for (std::size_t i = 0; i < node.size(); ++i) {
        if (readings[i]) {
            add_reading(*readings[i], node[i]);
        } else if (node[i].problem.empty()) {
            node[i].problem = readings[i].error().message;
        }
        if (probes && i < probes->size()) add_condition((*probes)[i], node[i]);
    }
    return node;
}

}  // namespace aliquot::gate
