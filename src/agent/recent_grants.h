// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"
#include "sharing/rollout.h"

namespace aliquot::agent {

/// What this agent has granted a moment ago, which kubelet may not list yet, and which devices may
/// not be granted right now. So no grant comes between the question who holds a device and the
/// moment when it is served in another way. Thread-safe.
class RecentGrants {
public:
    using Clock = std::chrono::steady_clock;

    /// Notes that these ids are about to be granted. To be called before what is served is read.
    /// errors   kUnavailable: a device of them is just being changed
    Result<Done> begin(const std::string& resource, std::span<const std::string> ids);
    /// They were not granted after all.
    void undo(const std::string& resource, std::span<const std::string> ids);

    /// How many grants have begun.
    [[nodiscard]] std::uint64_t version() const;
    /// Grants that kubelet has not listed yet; those of long ago it has forgotten or refused.
    [[nodiscard]] std::vector<sharing::DeviceHold> recent() const;
    /// kubelet lists these: from now on it tells when they end.
    void note_listed(std::span<const sharing::DeviceHold> listed);

    /// From now on nothing of these devices is granted, until open(). False: some grant has begun
    /// since `version`, so that what is known of holders is old; then nothing is closed.
    bool close(std::set<gpu::Uuid> devices, std::uint64_t version);
    void open();

    /// Whether a part of this GPU or MIG device was granted at most `age` ago.
    [[nodiscard]] bool granted_within(const gpu::Uuid& device, std::chrono::milliseconds age) const;

private:
    struct Entry {
        sharing::DeviceHold hold;
        Clock::time_point at;
        bool listed = false;
    };

    mutable std::mutex mutex_;
    std::vector<Entry> entries_;  // the newest last
    std::set<gpu::Uuid> closed_;
    std::uint64_t version_ = 0;
};

}  // namespace aliquot::agent
