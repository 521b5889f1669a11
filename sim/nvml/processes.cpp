// SPDX-License-Identifier: Apache-2.0
//
// Who uses a GPU.
#include "sim/node/processes.h"

#include <algorithm>
#include <array>
#include <vector>

#include "sim/nvml/library.h"

using namespace aliquot::sim;

namespace {

constexpr unsigned kAccountingEntries = 4000;

void fill(nvmlProcessInfo_v1_t& info, const ProcessState& process) {
    info.pid = process.pid;
    info.usedGpuMemory = process.memory_bytes;
}
void fill(nvmlProcessInfo_t& info, const ProcessState& process) {
    info.pid = process.pid;
    info.usedGpuMemory = process.memory_bytes;
    info.gpuInstanceId = process.gpu_instance;
    info.computeInstanceId = process.compute_instance;
}

/// Those that a handle shows: of the GPU, or of one MIG device. Who was given some MIG devices sees
/// the processes of those.
std::vector<ProcessState> shown_processes(const Gpu& gpu, const State& state) {
    auto processes = processes_on(state, gpu.slot);
    const auto session = Session::current();
    std::erase_if(processes, [&](const ProcessState& process) {
        if (gpu.device) return process.where() != gpu.device->instance;
        if (!session || !session->restricted(gpu.index)) return false;
        const auto* const compute = find_compute_instance(state, gpu.slot, process.where());
        return compute == nullptr || !session->sees(gpu.index, compute->uuid.view());
    });
    return processes;
}

/// The processes of a GPU or MIG device, with the locked State.
template <class Answer>
nvmlReturn_t with_processes(nvmlDevice_t device, Answer&& answer) {
    return with_device(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        const auto session = Session::current();
        if (!session) return NVML_ERROR_UNINITIALIZED;
        const auto state = session->lock();
        if (!state) return NVML_ERROR_UNKNOWN;
        return answer(shown_processes(gpu, **state));
    });
}

/// Which list a process is in. Clients of MPS have one of their own; their server is in the list of
/// compute processes.
ProcessKind list_of(const ProcessState& process) {
    const auto kind = static_cast<ProcessKind>(process.kind);
    return kind == ProcessKind::kMpsServer ? ProcessKind::kCompute : kind;
}

template <class Info>
nvmlReturn_t list_processes(nvmlDevice_t device, unsigned* count, Info* infos, ProcessKind list) {
    return with_processes(device, [&](std::vector<ProcessState> processes) -> nvmlReturn_t {
        std::erase_if(processes, [&](const auto& one) { return list_of(one) != list; });
        const auto result = begin_list(count, infos, processes.size());
        if (result != NVML_SUCCESS) return result;
        for (std::size_t i = 0; i < processes.size(); ++i) {
            infos[i] = {};
            fill(infos[i], processes[i]);
        }
        return NVML_SUCCESS;
    });
}

/// A process that kept the GPU busy.
struct Use {
    std::uint32_t pid;
    unsigned percent;
};

/// Those that did so after `last_seen`, with the mean since then; `when` is set to the end of the
/// last sampling period. Who has seen nothing yet is told how busy they are now.
std::vector<Use> uses_since(const State& state, unsigned slot, std::uint64_t last_seen,
                            std::uint64_t& when) {
    when = newest_period(state, slot) * kSamplingPeriodUs;
    std::vector<Use> uses;
    if (when <= last_seen) return uses;
    for (unsigned entry = 0; entry < kMaxProcesses; ++entry) {
        const ProcessState& process = state.processes[entry];
        if (process.pid == 0 || process.gpu != slot) continue;
        const unsigned percent = last_seen == 0
                                     ? (share_of(state, entry) + 500) / 1000
                                     : use_after(state, entry, last_seen / kSamplingPeriodUs);
        if (percent > 0) uses.push_back({process.pid, percent});
    }
    std::ranges::sort(uses, {}, &Use::pid);
    return uses;
}

/// The same as samples of either call.
template <class Sample>
nvmlReturn_t list_uses(const Gpu& gpu, const State& state, std::uint64_t last_seen, unsigned* count,
                       Sample* samples, std::uint64_t& when) {
    if (gpu.mig()) return NVML_ERROR_NOT_SUPPORTED;
    const auto active = uses_since(state, gpu.slot, last_seen, when);
    if (samples == nullptr) {
        *count = static_cast<unsigned>(std::max<std::size_t>(active.size(), 1));
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    if (active.empty()) {
        *count = 0;
        return NVML_ERROR_NOT_FOUND;
    }
    const auto result = begin_list(count, samples, active.size());
    if (result != NVML_SUCCESS) return result;
    for (std::size_t i = 0; i < active.size(); ++i) {
        samples[i] = {};
        samples[i].pid = active[i].pid;
        samples[i].timeStamp = when;
        samples[i].smUtil = active[i].percent;
        samples[i].memUtil = memory_share(active[i].percent);
    }
    return NVML_SUCCESS;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                  nvmlProcessInfo_v1_t* infos) {
    return list_processes(device, count, infos, ProcessKind::kCompute);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_v2_t* infos) {
    return list_processes(device, count, infos, ProcessKind::kCompute);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_t* infos) {
    return list_processes(device, count, infos, ProcessKind::kCompute);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                   nvmlProcessInfo_v1_t* infos) {
    return list_processes(device, count, infos, ProcessKind::kGraphics);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_v2_t* infos) {
    return list_processes(device, count, infos, ProcessKind::kGraphics);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_t* infos) {
    return list_processes(device, count, infos, ProcessKind::kGraphics);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_v1_t* infos) {
    return list_processes(device, count, infos, ProcessKind::kMpsClient);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                        nvmlProcessInfo_v2_t* infos) {
    return list_processes(device, count, infos, ProcessKind::kMpsClient);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                        nvmlProcessInfo_t* infos) {
    return list_processes(device, count, infos, ProcessKind::kMpsClient);
}

nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
                                                   nvmlProcessDetailList_t* list) {
    return with_processes(device, [&](std::vector<ProcessState> processes) -> nvmlReturn_t {
        if (list == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (list->version != nvmlProcessDetailList_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (list->mode > NVML_PROCESS_MODE_MPS) return NVML_ERROR_INVALID_ARGUMENT;
        constexpr std::array kModes = {ProcessKind::kCompute, ProcessKind::kGraphics,
                                       ProcessKind::kMpsClient};
        const ProcessKind wanted = kModes[list->mode];
        std::erase_if(processes, [&](const auto& one) { return list_of(one) != wanted; });
        const auto result =
            begin_list(&list->numProcArrayEntries, list->procArray, processes.size());
        if (result != NVML_SUCCESS) return result;
        for (std::size_t i = 0; i < processes.size(); ++i) {
            list->procArray[i] = {.pid = processes[i].pid,
                                  .usedGpuMemory = processes[i].memory_bytes,
                                  .gpuInstanceId = processes[i].gpu_instance,
                                  .computeInstanceId = processes[i].compute_instance,
                                  .usedGpuCcProtectedMemory = 0};
        }
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                             nvmlProcessUtilizationSample_t* samples,
                                             unsigned int* count, unsigned long long lastSeen) {
    return with_state_of(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        std::uint64_t when = 0;
        return list_uses(gpu, state, lastSeen, count, samples, when);
    });
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device,
                                                   nvmlProcessesUtilizationInfo_t* info) {
    return with_state_of(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (info->version != nvmlProcessesUtilizationInfo_v1) {
            return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        }
        std::uint64_t when = 0;
        const auto result = list_uses(gpu, state, info->lastSeenTimeStamp,
                                      &info->processSamplesCount, info->procUtilArray, when);
        if (result == NVML_SUCCESS) info->lastSeenTimeStamp = when;
        return result;
    });
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode) {
    return tell(device, mode, [](const Gpu& gpu) { return gpu.state.compute_mode; });
}
nvmlReturn_t nvmlDeviceSetComputeMode(nvmlDevice_t device, nvmlComputeMode_t mode) {
    return with_state_of(device, [&](const Gpu& gpu, State& state) -> nvmlReturn_t {
        if (mode > NVML_COMPUTEMODE_EXCLUSIVE_PROCESS) return NVML_ERROR_INVALID_ARGUMENT;
        if (mode == NVML_COMPUTEMODE_EXCLUSIVE_THREAD) return NVML_ERROR_NOT_SUPPORTED;
        state.gpus[gpu.slot].compute_mode = mode;
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetAccountingMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
    return tell(device, mode, [](const Gpu& gpu) { return gpu.state.accounting; });
}
nvmlReturn_t nvmlDeviceSetAccountingMode(nvmlDevice_t device, nvmlEnableState_t mode) {
    return with_state_of(device, [&](const Gpu& gpu, State& state) -> nvmlReturn_t {
        if (mode > NVML_FEATURE_ENABLED) return NVML_ERROR_INVALID_ARGUMENT;
        state.gpus[gpu.slot].accounting = mode;
        return NVML_SUCCESS;
    });
}
// Only running processes have accounts: what the node forgets with a process is gone.
nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned int pid,
                                          nvmlAccountingStats_t* stats) {
    return with_state_of(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        if (stats == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.state.accounting == 0) return NVML_ERROR_NOT_SUPPORTED;
        for (const ProcessState& process : processes_on(state, gpu.slot)) {
            if (process.pid != pid) continue;
            *stats = {};
            stats->gpuUtilization = process.sm_percent;
            stats->memoryUtilization = memory_share(process.sm_percent);
            stats->maxMemoryUsage = process.memory_bytes;
            stats->startTime = process.since_us;
            stats->isRunning = 1;
            return NVML_SUCCESS;
        }
        return NVML_ERROR_NOT_FOUND;
    });
}
nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned int* count,
                                         unsigned int* pids) {
    return with_state_of(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        if (gpu.state.accounting == 0) return NVML_ERROR_NOT_SUPPORTED;
        const auto processes = processes_on(state, gpu.slot);
        const auto result = begin_list(count, pids, processes.size());
        if (result != NVML_SUCCESS) return result;
        for (std::size_t i = 0; i < processes.size(); ++i) pids[i] = processes[i].pid;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetAccountingBufferSize(nvmlDevice_t device, unsigned int* entries) {
    return tell(device, entries, [](const Gpu&) { return kAccountingEntries; });
}
nvmlReturn_t nvmlDeviceClearAccountingPids(nvmlDevice_t device) {
    return with_gpu(device, [](const Gpu&) { return NVML_SUCCESS; });
}

}  // extern "C"
