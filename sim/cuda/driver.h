// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "abi/cuda.h"
#include "sim/cuda/device.h"
#include "sim/node/shared_state.h"

/// The node as this process sees it, from cuInit to its end. What the whole library shares.
namespace aliquot::sim {

class Driver {
public:
    static Driver& get();

    /// cuInit, and again after it failed.
    CUresult initialise();

    /// The CUDA version of the driver; asked also before cuInit.
    int cuda_version();

    [[nodiscard]] std::size_t device_count() const { return devices_.size(); }
    /// nullptr: there is no such device.
    [[nodiscard]] Device* device(CUdevice ordinal) const {
        if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices_.size()) return nullptr;
        return devices_[static_cast<std::size_t>(ordinal)].get();
    }
    /// The device whose memory an address is of, allocated or not.
    [[nodiscard]] Device* device_of(std::uint64_t address) const {
        for (const auto& device : devices_) {
            if (device->arena.contains(address) || device->low.contains(address)) {
                return device.get();
            }
        }
        return nullptr;
    }
    [[nodiscard]] SharedState& shared() const { return *shared_; }

    /// Settings of the environment, read by cuInit.
    std::optional<std::uint64_t> kernel_ns;      // ALIQUOT_SIM_CUDA_KERNEL_NS
    std::optional<std::uint64_t> context_bytes;  // ALIQUOT_SIM_CUDA_CONTEXT_BYTES

    std::mutex mutex;
    std::vector<CUctx_st*> contexts;  // all that ever were, by id

private:
    CUresult open_state();
    CUresult find_devices();

    std::mutex init_mutex_;
    std::unique_ptr<SharedState> shared_;
    std::vector<std::unique_ptr<Device>> devices_;
};

/// cuInit was called and succeeded, in this process and not in one that forked it.
extern std::atomic<bool> ready;
/// Calls that need no context: CUDA_ERROR_NOT_INITIALIZED before cuInit.
inline CUresult needs_init() {
    return ready.load(std::memory_order_acquire) ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

/// The device of a call that needs no context, or why there is none.
struct Wanted {
    CUresult result;
    Device* device;
};
inline Wanted wanted(CUdevice ordinal) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return {result, nullptr};
    Device* const device = Driver::get().device(ordinal);
    return {device == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS, device};
}

/// A setting in bytes, nanoseconds or the like; empty: not set, or no number.
std::optional<std::uint64_t> number_setting(const char* variable);

}  // namespace aliquot::sim
