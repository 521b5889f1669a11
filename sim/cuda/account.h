// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/cuda.h"
#include "sim/cuda/visible_devices.h"
#include "sim/node/shared_state.h"

namespace aliquot::sim {

/// What this process holds of one device's memory, in the node's books, where nvidia-smi, an agent
/// and other processes see it. Thread-safe.
class Account {
public:
    Account(SharedState& shared, const VisibleDevice& device) : shared_(&shared), device_(device) {}

    /// Enters the process table, if not in it yet.
    CUresult enter();
    /// Leaves it, with all that is held.
    void leave();

    /// CUDA_ERROR_OUT_OF_MEMORY: so much is not free, even after dead processes were dropped.
    CUresult grow(std::uint64_t bytes);
    void shrink(std::uint64_t bytes);

    /// What is held is not counted until it is taken up again (a checkpoint).
    void set_aside();
    /// CUDA_ERROR_OUT_OF_MEMORY: it does not fit any more.
    CUresult take_up_again();

    /// Not held by any process. Quick while this process is alone on the GPU.
    [[nodiscard]] std::uint64_t free_bytes();
    /// What processes may hold in all.
    [[nodiscard]] std::uint64_t total_bytes() const { return capacity_bytes_; }

    /// Under the node's lock: the entry of this process, made anew if somebody removed it; kMaxProcesses
    /// when it cannot.
    unsigned entry(State& state);
    [[nodiscard]] SharedState& shared() const { return *shared_; }
    [[nodiscard]] const VisibleDevice& device() const { return device_; }
    /// Reads the capacity, once.
    void look_up_capacity(const State& state);

private:
    [[nodiscard]] bool lost(const State& state) const;

    SharedState* shared_;
    VisibleDevice device_;
    std::uint64_t capacity_bytes_ = 0;
    std::uint64_t held_bytes_ = 0;  // under the node's lock
    std::uint64_t aside_bytes_ = 0;
    unsigned entry_ = kMaxProcesses;
    std::uint32_t pid_ = 0;
};

}  // namespace aliquot::sim
