// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "base/result.h"
#include "gpu/meters.h"
#include "telemetry/busy.h"
#include "telemetry/part_account.h"
#include "telemetry/scene.h"
#include "telemetry/snapshot.h"

namespace aliquot::telemetry {

/// The books of one GPU over time. Pure: the clock, the driver and the pods are the caller's.
///
/// Busy time is divided by what the driver (or the guard) says of each tenant's processes; what the
/// driver's whole per cents leave over goes to those that were busy. Power and energy: what the GPU
/// draws when nobody computes (the lowest seen) is nobody's, unless one tenant has the GPU whole;
/// the rest is divided by busy time. Under MIG instances count by their compute slices.
/// Not thread-safe.
class DeviceAccount {
public:
    explicit DeviceAccount(const AccountOptions& options) : options_(options) {}

    /// Goes on where an earlier agent has left its counters, as it has told them last; before the
    /// first note(). What the GPU has used meanwhile is known as far as the driver counts energy.
    void resume(const Device& kept, os::TimePoint now);

    /// What to ask the driver for next.
    [[nodiscard]] gpu::Since since() const;

    /// Enters one look. An error is a GPU that did not answer: nothing is known of the time since
    /// the look before, and its last metrics stand for a while.
    /// returns  the GPU as it stands; without layout, xids
    Device note(const gpu::Gpu& gpu, const Result<gpu::Reading>& reading, const Scene& scene,
                Moment wall);

    /// Of the last look.
    [[nodiscard]] bool mps_server_only() const;
    [[nodiscard]] bool mig_use_unknown() const { return mig_use_unknown_; }

private:
    std::optional<BusyStretch> busy_of(const PartIdentity& part, const gpu::Reading& reading,
                                       const gpu::MetricValues& metrics,
                                       std::chrono::nanoseconds elapsed, bool fresh);
    void note_parts(const gpu::Gpu& gpu, const gpu::Reading& reading, const Scene& scene,
                    std::chrono::nanoseconds elapsed, bool fresh);
    void note_energy(const gpu::MetricValues& metrics, std::chrono::nanoseconds elapsed,
                     bool fresh);
    void divide_power(const gpu::MetricValues& metrics, std::chrono::nanoseconds elapsed,
                      bool fresh);
    void show(const gpu::Reading& reading, Device& device) const;

    AccountOptions options_;
    std::map<std::optional<unsigned>, PartAccount> parts_;  // by GPU instance
    BusySamples gpu_busy_;
    BusySamples memory_busy_;
    ProcessUses uses_;
    std::optional<os::TimePoint> last_look_;
    std::chrono::nanoseconds unread_{0};  // since the last look that the GPU answered
    std::optional<os::TimePoint> last_good_;
    std::optional<Moment> read_at_;
    gpu::Reading last_;  // the last good one, without what it tells of a stretch of time
    std::uint64_t memory_busy_ns_ = 0;
    bool memory_busy_known_ = false;
    std::uint64_t energy_millijoules_ = 0;  // counter
    std::uint64_t energy_step_ = 0;         // of the last look
    std::uint64_t energy_rest_uj_ = 0;      // where power is summed up by us: below a millijoule
    std::optional<std::uint64_t> driver_energy_;
    bool energy_known_ = false;
    std::optional<std::uint64_t> idle_milliwatts_;  // the lowest seen while nobody computed
    bool mig_use_unknown_ = false;
};

}  // namespace aliquot::telemetry
