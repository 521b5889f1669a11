// SPDX-License-Identifier: Apache-2.0
#include "sim/node/processes.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/number.h"
#include "k8s/memory_amount.h"
#include "os/process_stat.h"
#include "sim/node/engine.h"
#include "sim/node/instances.h"
#include "sim/node/liveness.h"
#include "sim/node/memory.h"
#include "sim/node/script.h"
#include "sim/node/shared_state.h"
#include "sim/node/usage.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kMostTextBytes = std::uint64_t{1} << 50;  // a sum of them cannot overflow

/// Entries whose fields can be used; others exist only in a damaged file.
bool plausible(const State& state, const ProcessState& process) {
    return process.gpu < std::min(state.gpu_count, kMaxGpus);
}

void count_process(State& state, unsigned gpu, int change) {
    std::uint32_t& count = state.memory[gpu].processes;
    std::atomic_ref(count).store(count + static_cast<std::uint32_t>(change),
                                 std::memory_order_relaxed);
}

void remove_entry(State& state, ProcessState& process) {
    if (plausible(state, process)) {
        settle_gpu(state, process.gpu, monotonic_ns());
        state.gpus[process.gpu].load_changed_us = epoch_us();
        set_process_memory(state, process, 0);
        forget_work(state, static_cast<unsigned>(&process - state.processes));
        forget_use(state, static_cast<unsigned>(&process - state.processes));
        count_process(state, process.gpu, -1);
    }
    std::atomic_ref(process.pid).store(0, std::memory_order_release);
}

ProcessState* find_entry(State& state, unsigned gpu, std::uint32_t pid, const Instance& where) {
    const std::uint64_t name_space = own_pid_namespace();
    for (ProcessState& process : state.processes) {
        if (process.pid == pid && process.gpu == gpu && process.pid_namespace == name_space &&
            process.where() == where) {
            return &process;
        }
    }
    return nullptr;
}

ProcessState* free_entry(State& state) {
    for (ProcessState& process : state.processes) {
        if (process.pid == 0) return &process;
    }
    return nullptr;
}

Error out_of_memory(unsigned gpu, const Instance& where, std::uint32_t pid, std::uint64_t wanted,
                    std::uint64_t available) {
    const std::string subject = where.whole_gpu()
                                    ? ""
                                    : ", MIG device " + std::to_string(where.gpu_instance) + "/" +
                                          std::to_string(where.compute_instance);
    return {ErrorCode::kConflict, "GPU " + std::to_string(gpu) + subject +
                                      ": out of memory: process " + std::to_string(pid) +
                                      " wants " + k8s::bytes_text(wanted) + ", " +
                                      k8s::bytes_text(available) + " is free"};
}

/// Why nothing can run there; empty: something can.
std::optional<Error> unusable(const State& state, unsigned gpu, const Instance& where) {
    if (!where.whole_gpu()) {
        if (find_compute_instance(state, gpu, where) != nullptr) return std::nullopt;
        return Error{ErrorCode::kNotFound, "GPU " + std::to_string(gpu) + " has no MIG device " +
                                               std::to_string(where.gpu_instance) + "/" +
                                               std::to_string(where.compute_instance)};
    }
    if (state.gpus[gpu].mig_current == 0) return std::nullopt;
    return Error{ErrorCode::kConflict,
                 "GPU " + std::to_string(gpu) + " is in MIG mode: name one of its MIG devices"};
}

/// Why the compute mode keeps a new process out, in CUDA's words; empty: it does not. An MPS client
/// comes in on its server's ticket.
std::optional<Error> kept_out(const State& state, unsigned gpu, ProcessKind kind) {
    constexpr std::uint32_t kProhibited = 2;
    constexpr std::uint32_t kExclusiveProcess = 3;
    const std::uint32_t mode = state.gpus[gpu].compute_mode;
    if (mode != kProhibited && mode != kExclusiveProcess) return std::nullopt;
    bool occupied = mode == kProhibited;
    bool served = false;
    for (const ProcessState& process : state.processes) {
        if (process.pid == 0 || process.gpu != gpu) continue;
        occupied = true;
        served = served || process.kind == static_cast<std::uint32_t>(ProcessKind::kMpsServer);
    }
    const bool comes_in = kind == ProcessKind::kMpsClient && served && mode == kExclusiveProcess;
    if (!occupied || comes_in) return std::nullopt;
    return Error{ErrorCode::kConflict, "GPU " + std::to_string(gpu) +
                                           ": all CUDA-capable devices are busy or unavailable"};
}

}  // namespace

std::optional<std::uint64_t> start_time_of(std::uint32_t pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/stat";
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    std::array<char, 1024> buffer{};
    const ssize_t length = ::read(file, buffer.data(), buffer.size());
    ::close(file);
    if (length <= 0) return std::nullopt;
    const auto stat =
        os::parse_stat(std::string_view(buffer.data(), static_cast<std::size_t>(length)));
    if (!stat || stat->has_ended())
        return std::nullopt;  // the driver knows a process by its last thread
    return stat->start_ticks;
}

std::uint64_t own_pid_namespace() {
    struct stat status {};
    return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

void drop_dead_processes(State& state, std::optional<unsigned> gpu) {
    std::uint64_t own_namespace = 0;  // asked of the kernel only when there is a process at all
    Liveness::look(state);
    for (unsigned entry = 0; entry < kMaxProcesses; ++entry) {
        ProcessState& process = state.processes[entry];
        if (process.pid == 0 || (gpu && process.gpu != *gpu && plausible(state, process))) continue;
        if (own_namespace == 0) own_namespace = own_pid_namespace();
        if (plausible(state, process) && Liveness::lives(process, entry, own_namespace)) continue;
        Liveness::forget(entry);
        remove_entry(state, process);
    }
}

std::vector<ProcessState> processes_on(const State& state, unsigned gpu) {
    std::vector<ProcessState> found;
    for (const ProcessState& process : state.processes) {
        if (process.pid != 0 && process.gpu == gpu) found.push_back(process);
    }
    std::ranges::sort(found, {}, &ProcessState::pid);
    return found;
}

std::uint64_t used_bytes_on(const State& state, unsigned gpu, unsigned gpu_instance) {
    std::uint64_t bytes = 0;
    for (const ProcessState& process : state.processes) {
        if (process.pid != 0 && process.gpu == gpu && process.gpu_instance == gpu_instance) {
            bytes += std::min(process.memory_bytes, kMostTextBytes);
        }
    }
    return bytes;
}

std::uint64_t reserved_bytes_on(const GpuProfile& profile) {
    constexpr std::uint64_t kReservedMibPerSlice = 3;
    return profile.size * kReservedMibPerSlice << 20;
}

std::uint64_t free_bytes_on(const State& state, unsigned gpu, const Instance& where) {
    const auto rest = [](std::uint64_t total, std::uint64_t taken) {
        return taken >= total ? 0 : total - taken;
    };
    if (!where.whole_gpu()) {
        const auto found = find_gpu_instance(state, gpu, where.gpu_instance);
        if (!found) return 0;
        return rest(memory_bytes(*found.profile), used_bytes_on(state, gpu, where.gpu_instance) +
                                                      reserved_bytes_on(*found.profile));
    }
    const Model* const model = find_model(state.gpus[gpu].model.view());
    if (model == nullptr) return 0;
    return rest(model->memory_bytes(), load_on(state, gpu).memory_bytes + model->reserved_bytes());
}

void leave_gpu(State& state, unsigned entry) { remove_entry(state, state.processes[entry]); }

namespace {

/// What the kernel draws anew for each exec().
std::uint64_t own_image() {
    const auto* const random = reinterpret_cast<const void*>(::getauxval(AT_RANDOM));
    std::uint64_t image = 0;
    if (random != nullptr) std::memcpy(&image, random, sizeof image);
    return image;
}

/// Makes an entry for a process that has none.
Result<ProcessState*> add_entry(State& state, unsigned gpu, std::uint32_t pid,
                                const Instance& where, ProcessKind kind) {
    const auto start_time = start_time_of(pid);
    if (!start_time)
        return Error{ErrorCode::kNotFound, "there is no process " + std::to_string(pid)};
    if (auto trouble = unusable(state, gpu, where)) return *std::move(trouble);
    if (auto trouble = kept_out(state, gpu, kind)) return *std::move(trouble);
    ProcessState* const entry = free_entry(state);
    if (entry == nullptr) {
        return Error{ErrorCode::kUnavailable, "the node already has " +
                                                  std::to_string(kMaxProcesses) +
                                                  " processes, the most it can hold"};
    }
    const std::uint64_t total = total_bytes_on(state, gpu, where);
    const std::uint64_t kept = reserved_bytes_on(state, gpu, where);
    entry->gpu = gpu;
    entry->start_time = *start_time;
    entry->pid_namespace = own_pid_namespace();
    entry->memory_bytes = 0;
    entry->memory_peak_bytes = 0;
    entry->image = 0;
    entry->capacity_bytes = total - std::min(kept, total);
    entry->sm_percent = 0;
    entry->gpu_instance = where.gpu_instance;
    entry->compute_instance = where.compute_instance;
    entry->kind = static_cast<std::uint32_t>(kind);
    entry->since_us = epoch_us();
    forget_work(state, static_cast<unsigned>(entry - state.processes));
    forget_use(state, static_cast<unsigned>(entry - state.processes));
    settle_gpu(state, gpu, monotonic_ns());
    state.gpus[gpu].load_changed_us = epoch_us();
    count_process(state, gpu, 1);
    std::atomic_ref(entry->pid).store(pid, std::memory_order_release);
    return entry;
}

}  // namespace

Result<unsigned> enter_gpu(State& state, unsigned gpu, const Instance& where, ProcessKind kind) {
    drop_dead_processes(state);
    const auto pid = static_cast<std::uint32_t>(::getpid());
    ProcessState* entry = find_entry(state, gpu, pid, where);
    const std::uint64_t image = own_image();
    if (entry != nullptr && entry->image != 0 && entry->image != image) {
        remove_entry(state, *entry);  // of what this process was before exec()
        entry = nullptr;
    }
    if (entry == nullptr) {
        const auto added = add_entry(state, gpu, pid, where, kind);
        if (!added) return added.error();
        entry = *added;
    }
    entry->image = image;
    return static_cast<unsigned>(entry - state.processes);
}

Result<std::uint64_t> put_script(State& state, unsigned gpu, std::uint32_t pid,
                                 const LoadScript& script, const Instance& where,
                                 ProcessKind kind) {
    if (auto good = check(script); !good) return std::move(good).error();
    const LoadPhase& first = script.phases.front();
    auto put = put_process(state, gpu, pid, first.memory_bytes, first.sm_percent, where, kind);
    if (!put) return std::move(put).error();
    const std::uint64_t now_ns = monotonic_ns();
    const ProcessState* const entry = find_entry(state, gpu, pid, where);
    begin_script(state, static_cast<unsigned>(entry - state.processes), script, now_ns);
    return now_ns;
}

Result<Done> put_process(State& state, unsigned gpu, std::uint32_t pid, std::uint64_t memory_bytes,
                         unsigned sm_percent, const Instance& where, ProcessKind kind) {
    drop_dead_processes(state);
    ProcessState* entry = find_entry(state, gpu, pid, where);
    if (memory_bytes == 0) {
        if (entry != nullptr) remove_entry(state, *entry);
        return Done{};
    }
    const auto start_time = start_time_of(pid);
    if (!start_time)
        return Error{ErrorCode::kNotFound, "there is no process " + std::to_string(pid)};
    if (auto trouble = unusable(state, gpu, where)) return *std::move(trouble);
    if (entry == nullptr) {
        if (auto trouble = kept_out(state, gpu, kind)) return *std::move(trouble);
    }

    const std::uint64_t held = entry != nullptr ? entry->memory_bytes : 0;
    const std::uint64_t available = free_bytes_on(state, gpu, where) + held;
    if (memory_bytes > available) return out_of_memory(gpu, where, pid, memory_bytes, available);
    if (entry == nullptr) {
        const auto added = add_entry(state, gpu, pid, where, kind);
        if (!added) return added.error();
        entry = *added;
    }
    settle_gpu(state, gpu, monotonic_ns());
    state.scripts[entry - state.processes].phases = 0;
    state.gpus[gpu].load_changed_us = epoch_us();
    set_process_memory(state, *entry, memory_bytes);
    entry->sm_percent = std::min(sm_percent, 100U);
    return Done{};
}

}  // namespace aliquot::sim
