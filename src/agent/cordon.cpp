// SPDX-License-Identifier: Apache-2.0
#include "agent/cordon.h"

namespace aliquot::agent {

void Cordon::set(std::set<gpu::Uuid> gpus, std::string reason) {
    const std::scoped_lock lock(mutex_);
    if (gpus == gpus_) return;
    gpus_ = std::move(gpus);
    reason_ = std::move(reason);
    ++version_;
}

std::uint64_t Cordon::apply(gpu::Inventory& inventory) const {
    const std::scoped_lock lock(mutex_);
    for (gpu::Gpu& gpu : inventory.gpus) {
        if (!gpus_.contains(gpu.uuid)) continue;
        const gpu::Health health{.state = gpu::Health::State::kUnhealthy, .reason = reason_};
        gpu.health = health;
        for (gpu::MigDevice& device : gpu.mig_devices) device.health = health;
    }
    return version_;
}

void Cordon::confirm(std::uint64_t version) {
    const std::scoped_lock lock(mutex_);
    confirmed_ = version;
}

std::uint64_t Cordon::version() const {
    const std::scoped_lock lock(mutex_);
    return version_;
}

bool Cordon::empty() const {
    const std::scoped_lock lock(mutex_);
    return gpus_.empty();
}

bool Cordon::wait_confirmed(os::Clock& clock, std::chrono::milliseconds limit,
                            const std::stop_token& stop) const {
    constexpr std::chrono::milliseconds kGlance{20};
    const os::TimePoint end = clock.now() + limit;
    while (true) {
        {
            const std::scoped_lock lock(mutex_);
            if (confirmed_ >= version_) return true;
        }
        if (clock.now() >= end || !clock.sleep_for(kGlance, stop)) return false;
    }
}

}  // namespace aliquot::agent
