// SPDX-License-Identifier: Apache-2.0
#include "telemetry/device_account.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "telemetry/split.h"

namespace aliquot::telemetry {
namespace {

using gpu::Metric;

/// Busy for a part of the time that has passed.
BusyStretch stretch_of(double ratio, std::chrono::nanoseconds elapsed) {
    const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>(elapsed.count(), 0));
    const double busy = std::clamp(ratio, 0.0, 1.0) * static_cast<double>(span);
    return {.busy_ns = std::min(static_cast<std::uint64_t>(std::llround(busy)), span),
            .span_ns = span};
}

const gpu::MetricValues* metrics_of(const PartIdentity& part, const gpu::Reading& reading) {
    if (!part.gpu_instance) return &reading.metrics;
    const auto found = std::ranges::find(reading.instances, *part.gpu_instance,
                                         &gpu::InstanceReading::gpu_instance);
    return found == reading.instances.end() ? nullptr : &found->metrics;
}

std::map<std::string, std::uint64_t> throttled(const gpu::MetricValues& metrics) {
    constexpr std::array<std::pair<Metric, std::string_view>, 8> kReasons{{
        {Metric::kThrottlePowerNs, "sw_power"},
        {Metric::kThrottlePowerBrakeNs, "hw_power_brake"},
        {Metric::kThrottleSoftwareThermalNs, "sw_thermal"},
        {Metric::kThrottleHardwareThermalNs, "hw_thermal"},
        {Metric::kThrottleSyncBoostNs, "sync_boost"},
        {Metric::kThrottleBoardLimitNs, "board"},
        {Metric::kThrottleLowUtilizationNs, "low_utilization"},
        {Metric::kThrottleReliabilityNs, "reliability"},
    }};
    std::map<std::string, std::uint64_t> reasons;
    for (const auto& [metric, name] : kReasons) {
        if (const auto ns = metrics.whole(metric)) reasons.emplace(name, *ns);
    }
    // Drivers that do not tell software from hardware.
    const auto thermal = metrics.whole(Metric::kThrottleThermalNs);
    if (thermal && !reasons.contains("sw_thermal") && !reasons.contains("hw_thermal")) {
        reasons.emplace("thermal", *thermal);
    }
    return reasons;
}

/// What is left of a total when all tenants of all parts have theirs.
std::optional<std::uint64_t> rest_of(const std::optional<std::uint64_t>& total,
                                     const std::vector<Part>& parts,
                                     std::optional<std::uint64_t> Amounts::*member) {
    if (!total) return std::nullopt;
    std::uint64_t rest = *total;
    for (const Part& part : parts) {
        for (const Tenant& tenant : part.tenants) {
            rest -= std::min(rest, (tenant.amounts.*member).value_or(0));
        }
    }
    return rest;
}

}  // namespace

void DeviceAccount::resume(const Device& kept, os::TimePoint now) {
    memory_busy_known_ = kept.memory_busy_known;
    memory_busy_ns_ = kept.memory_busy_ns;
    if (const auto& energy = kept.total.energy_millijoules) {
        energy_known_ = true;
        energy_millijoules_ = *energy;
        driver_energy_ = kept.metrics.whole(Metric::kEnergyMillijoules);
    }
    for (const Part& part : kept.parts) {
        parts_.try_emplace(part.gpu_instance, options_).first->second.resume(part, now);
    }
}

gpu::Since DeviceAccount::since() const {
    return {.gpu_busy_us = gpu_busy_.newest_us(),
            .memory_busy_us = memory_busy_.newest_us(),
            .uses_us = uses_.newest_us()};
}

Device DeviceAccount::note(const gpu::Gpu& gpu, const Result<gpu::Reading>& reading,
                           const Scene& scene, Moment wall) {
    const auto elapsed = last_look_ ? std::chrono::nanoseconds(scene.now - *last_look_)
                                    : std::chrono::nanoseconds(0);
    last_look_ = scene.now;
    // A GPU that was slow to answer may have been asked several times.
    unread_ = last_good_ ? std::chrono::nanoseconds(scene.now - *last_good_) : elapsed;
    Device device{.gpu = gpu};
    const bool fresh = reading.ok();
    if (fresh) {
        last_good_ = scene.now;
        read_at_ = wall;
        last_ = *reading;
    } else {
        device.problem = reading.error().message;
        if (!last_good_ || scene.now - *last_good_ > options_.stale_after) last_ = gpu::Reading{};
    }
    device.read_at = read_at_;
    note_parts(gpu, last_, scene, elapsed, fresh);
    note_energy(last_.metrics, elapsed, fresh);
    divide_power(last_.metrics, elapsed, fresh);
    show(last_, device);
    // What was told of a stretch of time is told once.
    if (last_.gpu_busy) last_.gpu_busy->clear();
    if (last_.memory_busy) last_.memory_busy->clear();
    if (last_.uses) last_.uses->clear();
    return device;
}

std::optional<BusyStretch> DeviceAccount::busy_of(const PartIdentity& part,
                                                  const gpu::Reading& reading,
                                                  const gpu::MetricValues& metrics,
                                                  std::chrono::nanoseconds elapsed, bool fresh) {
    if (part.gpu_instance) {
        const auto active = metrics.get(Metric::kGraphicsActive);
        if (!active) return std::nullopt;
        const auto own = std::ranges::find(reading.instances, *part.gpu_instance,
                                           &gpu::InstanceReading::gpu_instance);
        // The average is of a time of its own: a look may have failed in between.
        const bool timed = own != reading.instances.end() && own->averaged.count() > 0;
        return fresh ? stretch_of(*active, timed ? own->averaged : elapsed) : BusyStretch{};
    }
    if (reading.gpu_busy) return gpu_busy_.take(*reading.gpu_busy, elapsed, unread_);
    const auto percent = metrics.get(Metric::kGpuBusyPercent);
    if (!percent) return std::nullopt;
    return fresh ? stretch_of(*percent / 100, elapsed) : BusyStretch{};
}

void DeviceAccount::note_parts(const gpu::Gpu& gpu, const gpu::Reading& reading, const Scene& scene,
                               std::chrono::nanoseconds elapsed, bool fresh) {
    if (reading.memory_busy) {
        memory_busy_known_ = true;
        memory_busy_ns_ += memory_busy_.take(*reading.memory_busy, elapsed, unread_).busy_ns;
    }
    const std::vector<PartIdentity> identities = parts_of(gpu);
    std::erase_if(parts_, [&](const auto& entry) {
        return std::ranges::find(identities, entry.first, &PartIdentity::gpu_instance) ==
               identities.end();
    });
    std::map<std::uint32_t, std::uint64_t> uses;
    if (reading.uses) uses = uses_.take(*reading.uses, elapsed);
    mig_use_unknown_ = false;
    for (const PartIdentity& identity : identities) {
        static const gpu::MetricValues kNone;
        const gpu::MetricValues* const found = metrics_of(identity, reading);
        const gpu::MetricValues& metrics = found == nullptr ? kNone : *found;
        const auto busy = busy_of(identity, reading, metrics, elapsed, fresh);
        mig_use_unknown_ = mig_use_unknown_ || (identity.gpu_instance && !busy && fresh);
        const bool told = reading.uses && !identity.gpu_instance;
        parts_.try_emplace(identity.gpu_instance, options_)
            .first->second.note(
                identity, {.metrics = metrics, .busy = busy, .elapsed = elapsed, .now = scene.now},
                occupants_on(identity, gpu, reading, told ? &uses : nullptr, scene));
    }
    uses_.seen_until(gpu_busy_.newest_us());
}

void DeviceAccount::note_energy(const gpu::MetricValues& metrics, std::chrono::nanoseconds elapsed,
                                bool fresh) {
    energy_step_ = 0;
    if (!fresh) return;
    if (const auto counted = metrics.whole(Metric::kEnergyMillijoules)) {
        // The driver's count begins anew when it is reloaded; ours goes on.
        if (!driver_energy_) {
            energy_millijoules_ = std::max(energy_millijoules_, *counted);
        } else {
            energy_step_ = *counted >= *driver_energy_ ? *counted - *driver_energy_ : *counted;
        }
        driver_energy_ = counted;
    } else if (const auto power = metrics.whole(Metric::kPowerMilliwatts)) {
        const auto us = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count());
        energy_rest_uj_ += scaled(*power, us, 1000);
        energy_step_ = energy_rest_uj_ / 1000;
        energy_rest_uj_ %= 1000;
    } else {
        return;
    }
    energy_known_ = true;
    energy_millijoules_ += energy_step_;
}

void DeviceAccount::divide_power(const gpu::MetricValues& metrics, std::chrono::nanoseconds elapsed,
                                 bool fresh) {
    const auto power = metrics.whole(Metric::kPowerMilliwatts);
    std::vector<PartAccount::Entry*> entries;
    std::vector<std::uint64_t> weights;
    std::uint64_t all = 0;
    bool known = true;  // how busy all parts were
    for (auto& [instance, part] : parts_) {
        known = known && part.utilization_ppm().has_value();
        all += part.utilization_ppm().value_or(0) * part.slices();
        for (PartAccount::Entry& entry : part.entries()) {
            if (!entry.seen) continue;
            entries.push_back(&entry);
            weights.push_back(entry.row.amounts.utilization_ppm.value_or(0) * part.slices());
        }
    }
    if (power && known && all == 0 && fresh) {
        idle_milliwatts_ = std::min(idle_milliwatts_.value_or(*power), *power);
    }
    const std::uint64_t idle = idle_milliwatts_.value_or(0);
    const auto us = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count());
    const std::uint64_t idle_step = scaled(idle, us, 1'000'000);
    const std::uint64_t active = power ? *power - std::min(*power, idle) : 0;
    const std::uint64_t active_step = energy_step_ - std::min(energy_step_, idle_step);
    const auto powers = divide(active, weights, all);
    const auto steps = divide(active_step, weights, all);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        Tenant& row = entries[i]->row;
        const bool whole = entries[i]->whole && parts_.size() == 1 && parts_.contains(std::nullopt);
        row.amounts.power_milliwatts.reset();
        if (!whole && !(known && row.amounts.utilization_ppm)) continue;
        if (power) row.amounts.power_milliwatts = whole ? *power : powers[i];
        if (energy_known_) {
            row.amounts.energy_millijoules =
                row.amounts.energy_millijoules.value_or(0) + (whole ? energy_step_ : steps[i]);
        }
    }
}

void DeviceAccount::show(const gpu::Reading& reading, Device& device) const {
    device.metrics = reading.metrics;
    device.throttled_ns = throttled(reading.metrics);
    device.memory_busy_ns = memory_busy_ns_;
    device.memory_busy_known = memory_busy_known_;
    for (const auto& [instance, part] : parts_) device.parts.push_back(part.show());
    const bool uncut = parts_.size() == 1 && parts_.contains(std::nullopt);
    if (uncut) device.total = device.parts.front().total;
    device.total.memory_bytes = reading.metrics.whole(Metric::kMemoryUsedBytes);
    device.total.power_milliwatts = reading.metrics.whole(Metric::kPowerMilliwatts);
    if (energy_known_) device.total.energy_millijoules = energy_millijoules_;
    device.remainder = {
        .memory_bytes = rest_of(device.total.memory_bytes, device.parts, &Amounts::memory_bytes),
        .utilization_ppm =
            rest_of(device.total.utilization_ppm, device.parts, &Amounts::utilization_ppm),
        .busy_ns = rest_of(device.total.busy_ns, device.parts, &Amounts::busy_ns),
        .power_milliwatts =
            rest_of(device.total.power_milliwatts, device.parts, &Amounts::power_milliwatts),
        .energy_millijoules =
            rest_of(device.total.energy_millijoules, device.parts, &Amounts::energy_millijoules)};
    if (!uncut) return;
    device.parts.front().total = device.total;
    device.parts.front().remainder = device.remainder;
}

bool DeviceAccount::mps_server_only() const {
    return std::ranges::any_of(parts_,
                               [](const auto& entry) { return entry.second.server_only(); });
}

}  // namespace aliquot::telemetry
