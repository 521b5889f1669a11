// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "sim/node/mig_profiles.h"
#include "sim/node/script.h"
#include "sim/node/state.h"

/// The process table of a node. All of it under the node's lock.
namespace aliquot::sim {

/// When a process started, in clock ticks since boot; empty: there is none, or it has ended and
/// only waits for its parent (its memory is free then).
std::optional<std::uint64_t> start_time_of(std::uint32_t pid);

/// Inode of this process's pid namespace; 0 when the system does not tell.
std::uint64_t own_pid_namespace();

/// Removes the entries of processes that are gone (or that make no sense).
/// gpu   only those of this one: each look at a process costs a read of /proc
void drop_dead_processes(State& state, std::optional<unsigned> gpu = std::nullopt);

/// The processes on one GPU, by pid.
std::vector<ProcessState> processes_on(const State& state, unsigned gpu);

/// What is taken of an instance's memory by its processes. Compute instances of one GPU instance
/// share its memory.
std::uint64_t used_bytes_on(const State& state, unsigned gpu, unsigned gpu_instance);
/// What the driver keeps of a GPU instance's memory.
std::uint64_t reserved_bytes_on(const GpuProfile& profile);

/// Bytes that a new process could get there.
std::uint64_t free_bytes_on(const State& state, unsigned gpu, const Instance& where = {});

/// Counts state.memory anew from the process table.
void recount_memory(State& state);

/// What the driver itself keeps where processes run.
std::uint64_t reserved_bytes_on(const State& state, unsigned gpu, const Instance& where);
/// All the memory there is.
std::uint64_t total_bytes_on(const State& state, unsigned gpu, const Instance& where);

/// The entry of this process there, made with no memory when there is none yet. Returns its place.
/// errors   as put_process
Result<unsigned> enter_gpu(State& state, unsigned gpu, const Instance& where, ProcessKind kind);
/// Adds to what the process of an entry holds. False: that much is not free; nothing changed.
bool grow_process(State& state, unsigned entry, std::uint64_t bytes);
void shrink_process(State& state, unsigned entry, std::uint64_t bytes);
/// Removes an entry, as if its process had ended.
void leave_gpu(State& state, unsigned entry);
/// Begins the peaks anew at what is held now.
void reset_peaks(State& state);

/// Adds, changes or (0 bytes) removes the entry of `pid` on `gpu`, which must exist.
/// sm_percent   of the instance, where one is named
/// errors   kNotFound: no such process or instance; kConflict: not so much memory is free, or the
///          GPU is in MIG mode and no instance is named, or its compute mode keeps the process
///          out; kUnavailable: table full
Result<Done> put_process(State& state, unsigned gpu, std::uint32_t pid, std::uint64_t memory_bytes,
                         unsigned sm_percent, const Instance& where = {},
                         ProcessKind kind = ProcessKind::kCompute);

/// Adds or changes the entry of `pid` and has it do as `script` says from now on.
/// returns  when it began, in nanoseconds of the monotonic clock
/// errors   as put_process, for the memory of the first phase; kInvalidInput: not a good script
Result<std::uint64_t> put_script(State& state, unsigned gpu, std::uint32_t pid,
                                 const LoadScript& script, const Instance& where, ProcessKind kind);

}  // namespace aliquot::sim
