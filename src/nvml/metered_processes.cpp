// SPDX-License-Identifier: Apache-2.0
#include "nvml/metered_processes.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace aliquot::nvml {
namespace {

constexpr unsigned kMostSamples = 65536;
constexpr unsigned kMostPercent = 100;
constexpr unsigned kSlack = 16;

std::optional<unsigned> percent_in(const nvmlSample_t& sample, nvmlValueType_t type) {
    switch (type) {
        case NVML_VALUE_TYPE_UNSIGNED_INT:
            return sample.sampleValue.uiVal;
        case NVML_VALUE_TYPE_UNSIGNED_LONG:
        case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
            return static_cast<unsigned>(
                std::min<std::uint64_t>(sample.sampleValue.ullVal, kMostPercent + 1));
        case NVML_VALUE_TYPE_UNSIGNED_SHORT:
            return sample.sampleValue.usVal;
        default:
            return std::nullopt;
    }
}

bool plausible(const nvmlProcessUtilizationSample_t& sample) {
    // Drivers have been seen to give uninitialised entries.
    return sample.pid != 0 && sample.smUtil <= kMostPercent && sample.memUtil <= kMostPercent &&
           sample.encUtil <= kMostPercent && sample.decUtil <= kMostPercent;
}

using Processes = std::map<std::pair<std::uint32_t, std::uint64_t>, gpu::MeteredProcess>;

std::optional<unsigned> instance(unsigned id) {
    if (id == NVML_NO_INSTANCE) return std::nullopt;
    return id;
}

void add(Processes& processes, const nvmlProcessInfo_t& entry, ProcessKind kind) {
    if (entry.pid == 0) return;
    const std::uint64_t where =
        std::uint64_t{entry.gpuInstanceId} << 32U | std::uint64_t{entry.computeInstanceId};
    gpu::MeteredProcess& process = processes[{entry.pid, where}];
    process.pid = entry.pid;
    process.gpu_instance = instance(entry.gpuInstanceId);
    process.compute_instance = instance(entry.computeInstanceId);
    process.compute = process.compute || kind == ProcessKind::kCompute;
    process.graphics = process.graphics || kind == ProcessKind::kGraphics;
    process.mps_client = process.mps_client || kind == ProcessKind::kMps;
    if (entry.usedGpuMemory != NVML_VALUE_NOT_AVAILABLE) {
        // The lists tell the whole of a process's memory each.
        process.memory_bytes = std::max(process.memory_bytes.value_or(0), entry.usedGpuMemory);
    }
}

struct List {
    ProcessKind kind;
    Topic topic;
    const char* call;
};
constexpr std::array kLists = {
    List{ProcessKind::kCompute, Topic::kComputeProcesses, "nvmlDeviceGetComputeRunningProcesses"},
    List{ProcessKind::kGraphics, Topic::kGraphicsProcesses,
         "nvmlDeviceGetGraphicsRunningProcesses"},
    List{ProcessKind::kMps, Topic::kMpsProcesses, "nvmlDeviceGetMPSComputeRunningProcesses"},
};

/// Adds the processes of each MIG device by its own handle.
bool add_mig_processes(Inquiry& inquiry, const std::vector<MigHandle>& mig, Processes& processes) {
    bool any = false;
    for (const MigHandle& device : mig) {
        for (const List& list : kLists) {
            if (list.kind == ProcessKind::kGraphics || inquiry.end() != NVML_SUCCESS) continue;
            const auto told = inquiry.library().processes(device.handle, list.kind);
            if (!inquiry.note_failure(list.call, told.code)) continue;
            any = true;
            for (nvmlProcessInfo_t entry : told.value) {
                entry.gpuInstanceId = device.gpu_instance;
                entry.computeInstanceId = device.compute_instance;
                add(processes, entry, list.kind);
            }
        }
    }
    return any;
}

}  // namespace

std::optional<std::vector<gpu::BusySample>> read_busy_samples(Inquiry& inquiry, Topic topic,
                                                              std::uint64_t since_us,
                                                              SampleRoom& room) {
    if (!inquiry.open(topic)) return std::nullopt;
    const auto& call = inquiry.nvml().nvmlDeviceGetSamples;
    const nvmlSamplingType_t type = topic == Topic::kGpuBusySamples
                                        ? NVML_GPU_UTILIZATION_SAMPLES
                                        : NVML_MEMORY_UTILIZATION_SAMPLES;
    nvmlValueType_t value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (room.busy == 0) {
        unsigned needed = 0;
        const auto code = call(inquiry.device(), type, 0, &value_type, &needed,
                               static_cast<nvmlSample_t*>(nullptr));
        if (code != NVML_ERROR_INSUFFICIENT_SIZE && !inquiry.note(topic, call.name(), code)) {
            return std::nullopt;
        }
        room.busy = std::clamp(needed, 1U, kMostSamples);
    }
    std::vector<nvmlSample_t> told(room.busy);
    unsigned count = room.busy;
    const auto code = call(inquiry.device(), type, since_us, &value_type, &count, told.data());
    std::vector<gpu::BusySample> samples;
    if (code == NVML_ERROR_NOT_FOUND) return samples;  // nothing new
    if (!inquiry.note(topic, call.name(), code)) return std::nullopt;
    told.resize(std::min<std::size_t>(count, told.size()));
    for (const nvmlSample_t& sample : told) {
        const auto percent = percent_in(sample, value_type);
        if (!percent || *percent > kMostPercent || sample.timeStamp <= since_us) continue;
        samples.push_back({sample.timeStamp, *percent});
    }
    std::ranges::sort(samples, {}, &gpu::BusySample::at_us);
    return samples;
}

void catch_up(Inquiry& inquiry, Topic topic, std::uint64_t since_us,
              const std::vector<gpu::ProcessUse>& uses,
              std::optional<std::vector<gpu::BusySample>>& samples, SampleRoom& room) {
    if (!samples || uses.empty()) return;
    const std::uint64_t newest = uses.back().at_us;
    const std::uint64_t before = samples->empty() ? since_us : samples->back().at_us;
    if (newest <= before) return;
    const auto more = read_busy_samples(inquiry, topic, before, room);
    if (!more) return;
    for (const gpu::BusySample& sample : *more) {
        if (sample.at_us <= newest) samples->push_back(sample);
    }
}

std::optional<std::vector<gpu::ProcessUse>> read_uses(Inquiry& inquiry, std::uint64_t since_us,
                                                      SampleRoom& room) {
    if (!inquiry.open(Topic::kProcessUtilization)) return std::nullopt;
    const auto& call = inquiry.nvml().nvmlDeviceGetProcessUtilization;
    std::vector<nvmlProcessUtilizationSample_t> told;
    nvmlReturn_t code = NVML_ERROR_INSUFFICIENT_SIZE;
    unsigned count = 0;
    while (code == NVML_ERROR_INSUFFICIENT_SIZE && room.uses <= kMostSamples) {
        told.assign(room.uses, {});
        count = room.uses;
        code = call(inquiry.device(), told.data(), &count, since_us);
        if (code == NVML_ERROR_INSUFFICIENT_SIZE) {
            room.uses = std::max(room.uses * 2, std::min(count, kMostSamples) + kSlack);
        }
    }
    std::vector<gpu::ProcessUse> uses;
    if (code == NVML_ERROR_NOT_FOUND) return uses;  // all idle
    if (!inquiry.note(Topic::kProcessUtilization, call.name(), code)) return std::nullopt;
    told.resize(std::min<std::size_t>(count, told.size()));
    for (const auto& sample : told) {
        if (!plausible(sample) || sample.timeStamp <= since_us) continue;
        uses.push_back({sample.pid, sample.timeStamp, sample.smUtil, sample.memUtil, sample.encUtil,
                        sample.decUtil});
    }
    std::ranges::stable_sort(uses, {}, &gpu::ProcessUse::at_us);
    return uses;
}

std::optional<std::vector<gpu::MeteredProcess>> read_processes(Inquiry& inquiry,
                                                               const std::vector<MigHandle>& mig,
                                                               bool memory_in_use) {
    Processes processes;
    bool any_list = false;
    bool instances_told = true;
    for (const List& list : kLists) {
        if (!inquiry.open(list.topic)) continue;
        const auto told = inquiry.library().processes(inquiry.device(), list.kind);
        if (!inquiry.note(list.topic, list.call, told.code)) continue;
        any_list = true;
        for (const nvmlProcessInfo_t& entry : told.value) {
            instances_told = instances_told && entry.gpuInstanceId != NVML_NO_INSTANCE;
            add(processes, entry, list.kind);
        }
    }
    const bool incomplete = !any_list || !instances_told || (processes.empty() && memory_in_use);
    if (!mig.empty() && incomplete) {
        Processes by_device;
        if (add_mig_processes(inquiry, mig, by_device)) {
            any_list = true;
            processes = std::move(by_device);
        }
    }
    if (!any_list) return std::nullopt;
    std::vector<gpu::MeteredProcess> listed;
    listed.reserve(processes.size());
    for (auto& [key, process] : processes) listed.push_back(process);
    return listed;
}

void keep_known(const std::set<std::uint32_t>& before,
                const std::optional<std::vector<gpu::MeteredProcess>>& now,
                std::vector<gpu::ProcessUse>& uses) {
    if (!now) return;
    std::erase_if(uses, [&](const gpu::ProcessUse& use) {
        const auto listed = std::ranges::find(*now, use.pid, &gpu::MeteredProcess::pid);
        return listed == now->end() && !before.contains(use.pid);
    });
}

}  // namespace aliquot::nvml
