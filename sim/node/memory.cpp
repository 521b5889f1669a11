// SPDX-License-Identifier: Apache-2.0
#include "sim/node/memory.h"

#include <algorithm>
#include <atomic>

#include "sim/node/instances.h"
#include "sim/node/processes.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;  // a sum of them cannot overflow

bool on_instance(const ProcessState& process) { return process.gpu_instance < kMaxGpuInstances; }

}  // namespace

void set_process_memory(State& state, ProcessState& process, std::uint64_t bytes) {
    MemoryState& memory = state.memory[process.gpu];
    const std::uint64_t before = std::min(process.memory_bytes, kMostBytes);
    const std::uint64_t after = std::min(bytes, kMostBytes);
    process.memory_bytes = bytes;
    process.memory_peak_bytes = std::max(process.memory_peak_bytes, bytes);
    const std::uint64_t used = memory.used_bytes - before + after;
    std::atomic_ref(memory.used_bytes).store(used, std::memory_order_relaxed);
    if (used > memory.peak_bytes) memory.peak_bytes = used;
    if (on_instance(process)) {
        auto& part = memory.instance_used_bytes[process.gpu_instance];
        std::atomic_ref(part).store(part - before + after, std::memory_order_relaxed);
    }
}

void recount_memory(State& state) {
    for (MemoryState& memory : state.memory) {
        memory.used_bytes = 0;
        memory.processes = 0;
        for (std::uint64_t& bytes : memory.instance_used_bytes) bytes = 0;
    }
    for (const ProcessState& process : state.processes) {
        if (process.pid == 0 || process.gpu >= std::min(state.gpu_count, kMaxGpus)) continue;
        MemoryState& memory = state.memory[process.gpu];
        const std::uint64_t bytes = std::min(process.memory_bytes, kMostBytes);
        memory.used_bytes += bytes;
        ++memory.processes;
        if (on_instance(process)) memory.instance_used_bytes[process.gpu_instance] += bytes;
    }
    for (MemoryState& memory : state.memory) {
        memory.peak_bytes = std::max(memory.peak_bytes, memory.used_bytes);
    }
}

std::uint64_t reserved_bytes_on(const State& state, unsigned gpu, const Instance& where) {
    if (!where.whole_gpu()) {
        const auto found = find_gpu_instance(state, gpu, where.gpu_instance);
        return found ? reserved_bytes_on(*found.profile) : 0;
    }
    const Model* const model = find_model(state.gpus[gpu].model.view());
    return model == nullptr ? 0 : model->reserved_bytes();
}

std::uint64_t total_bytes_on(const State& state, unsigned gpu, const Instance& where) {
    if (!where.whole_gpu()) {
        const auto found = find_gpu_instance(state, gpu, where.gpu_instance);
        return found ? memory_bytes(*found.profile) : 0;
    }
    const Model* const model = find_model(state.gpus[gpu].model.view());
    return model == nullptr ? 0 : model->memory_bytes();
}

bool grow_process(State& state, unsigned entry, std::uint64_t bytes) {
    ProcessState& process = state.processes[entry];
    const MemoryState& memory = state.memory[process.gpu];
    const std::uint64_t used =
        on_instance(process) ? memory.instance_used_bytes[process.gpu_instance] : memory.used_bytes;
    const std::uint64_t limit = process.capacity_bytes;
    if (bytes > limit || used > limit - bytes) return false;
    set_process_memory(state, process, process.memory_bytes + bytes);
    return true;
}

void shrink_process(State& state, unsigned entry, std::uint64_t bytes) {
    ProcessState& process = state.processes[entry];
    set_process_memory(state, process,
                       process.memory_bytes - std::min(bytes, process.memory_bytes));
}

void reset_peaks(State& state) {
    for (MemoryState& memory : state.memory) memory.peak_bytes = memory.used_bytes;
    for (ProcessState& process : state.processes) process.memory_peak_bytes = process.memory_bytes;
}

}  // namespace aliquot::sim
