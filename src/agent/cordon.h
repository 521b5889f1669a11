// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>

#include "gpu/inventory.h"
#include "os/clock.h"

namespace aliquot::agent {

/// GPUs that are being cut: what kubelet must not give away meanwhile. Thread-safe.
class Cordon {
public:
    /// From now on these, and no others.
    void set(std::set<gpu::Uuid> gpus, std::string reason);
    /// Makes them unhealthy in an inventory, and their MIG devices. Returns what confirm() wants.
    std::uint64_t apply(gpu::Inventory& inventory) const;
    /// kubelet has been told of everything up to `version`.
    void confirm(std::uint64_t version);
    /// False: not within `limit`, or a stop came.
    bool wait_confirmed(os::Clock& clock, std::chrono::milliseconds limit,
                        const std::stop_token& stop) const;
    [[nodiscard]] std::uint64_t version() const;
    [[nodiscard]] bool empty() const;  // no GPU is being cut

private:
    mutable std::mutex mutex_;
    std::set<gpu::Uuid> gpus_;
    std::string reason_;
    std::uint64_t version_ = 0;
    std::uint64_t confirmed_ = 0;
};

}  // namespace aliquot::agent
