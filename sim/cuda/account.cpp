// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/account.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>

#include "sim/node/processes.h"

namespace aliquot::sim {
namespace {

constexpr std::uint32_t kFewNeighbours = 4;  // so many are looked at each time

/// A clock that costs next to nothing and ticks every few milliseconds.
std::uint64_t ticks() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

void Account::look_up_capacity(const State& state) {
    const std::uint64_t total = total_bytes_on(state, device_.slot, device_.where);
    const std::uint64_t kept = reserved_bytes_on(state, device_.slot, device_.where);
    capacity_bytes_ = total - std::min(kept, total);
}

bool Account::lost(const State& state) const {
    return shared_->destroyed() || state.gpus[device_.slot].fault.lost != 0;
}

unsigned Account::entry(State& state) {
    if (entry_ < kMaxProcesses && state.processes[entry_].pid == pid_ &&
        state.processes[entry_].gpu == device_.slot) {
        return entry_;
    }
    entry_ = kMaxProcesses;
    const auto entered = enter_gpu(state, device_.slot, device_.where, ProcessKind::kCompute);
    if (!entered) return entry_;
    entry_ = *entered;
    // What a program held that this process was before an exec went with it.
    if (pid_ == 0) shrink_process(state, entry_, state.processes[entry_].memory_bytes);
    pid_ = static_cast<std::uint32_t>(::getpid());
    if (held_bytes_ > 0) (void)grow_process(state, entry_, held_bytes_);
    return entry_;
}

CUresult Account::enter() {
    CUresult result = CUDA_ERROR_DEVICE_UNAVAILABLE;
    {
        const auto state = shared_->lock();
        if (!state) return CUDA_ERROR_UNKNOWN;
        if (lost(**state)) return CUDA_ERROR_UNKNOWN;
        if (entry(**state) < kMaxProcesses) result = CUDA_SUCCESS;
    }
    shared_->announce();
    return result;
}

void Account::leave() {
    {
        const auto state = shared_->lock();
        if (!state) return;
        const bool ours = entry_ < kMaxProcesses && (*state)->processes[entry_].pid == pid_;
        // Another copy of this library may be loaded beside us, with memory of its own.
        if (ours) shrink_process(**state, entry_, held_bytes_);
        if (ours && (*state)->processes[entry_].memory_bytes == 0) leave_gpu(**state, entry_);
        entry_ = kMaxProcesses;
        held_bytes_ = 0;
    }
    shared_->announce();
}

CUresult Account::grow(std::uint64_t bytes) {
    const auto state = shared_->lock();
    if (!state) return CUDA_ERROR_UNKNOWN;
    if (lost(**state)) return CUDA_ERROR_UNKNOWN;
    const unsigned place = entry(**state);
    if (place >= kMaxProcesses) return CUDA_ERROR_DEVICE_UNAVAILABLE;
    if (!grow_process(**state, place, bytes)) {
        drop_dead_processes(**state);
        if (!grow_process(**state, place, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    held_bytes_ += bytes;
    return CUDA_SUCCESS;
}

void Account::shrink(std::uint64_t bytes) {
    const auto state = shared_->lock();
    if (!state) return;
    held_bytes_ -= std::min(bytes, held_bytes_);
    const unsigned place = entry(**state);
    if (place < kMaxProcesses) shrink_process(**state, place, bytes);
}

void Account::set_aside() {
    const std::uint64_t bytes = held_bytes_;
    shrink(bytes);
    aside_bytes_ += bytes;
}

CUresult Account::take_up_again() {
    if (aside_bytes_ == 0) return CUDA_SUCCESS;
    const CUresult result = grow(aside_bytes_);
    if (result == CUDA_SUCCESS) aside_bytes_ = 0;
    return result;
}

std::uint64_t Account::free_bytes() {
    // Plain reads of a word each: the sums are written by whoever holds the lock.
    State& state = shared_->content();
    MemoryState& memory = state.memory[device_.slot];
    const std::uint32_t neighbours =
        std::atomic_ref(memory.processes).load(std::memory_order_relaxed);
    if (neighbours > 1) {
        static std::atomic<std::uint64_t> last_look{0};
        const std::uint64_t now = ticks();
        if (neighbours <= kFewNeighbours || last_look.exchange(now) != now) {
            if (const auto locked = shared_->lock()) drop_dead_processes(**locked);
        }
    }
    std::uint64_t& used = device_.where.whole_gpu()
                              ? memory.used_bytes
                              : memory.instance_used_bytes[device_.where.gpu_instance];
    const std::uint64_t taken = std::atomic_ref(used).load(std::memory_order_relaxed);
    return capacity_bytes_ - std::min(taken, capacity_bytes_);
}

}  // namespace aliquot::sim
