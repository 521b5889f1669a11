// SPDX-License-Identifier: Apache-2.0
#include "guard_region/watchdog.h"

#include <algorithm>

namespace aliquot::guard_region {
namespace {

constexpr unsigned kPatience = 2;  // looks that nothing is said

/// Whom to end: who is not guarded before who is, then who came last.
const Held* last_comer(const DeviceReading& device) {
    const Held* chosen = nullptr;
    for (const Held& held : device.held) {
        if (!held.bytes || *held.bytes == 0) continue;
        if (chosen == nullptr) {
            chosen = &held;
            continue;
        }
        const auto rank = [](const Held& one) {
            return std::pair(!one.slot.has_value(), one.process.start_ticks);
        };
        if (rank(held) > rank(*chosen)) chosen = &held;
    }
    return chosen;
}

}  // namespace

std::uint64_t Slack::of(std::uint64_t limit_bytes) const {
    constexpr std::uint64_t kLeast = std::uint64_t{256} << 20U;
    constexpr double kUsual = 5;
    if (bytes) return *bytes;
    const double share = static_cast<double>(limit_bytes) * percent.value_or(kUsual) / 100;
    const auto part = static_cast<std::uint64_t>(share);
    return percent ? part : std::max(part, kLeast);
}

void Watchdog::look_for_unguarded(const std::string& region, const DeviceReading& device,
                                  std::uint64_t limit, Seen& seen, std::map<ProcessKey, Count>& now,
                                  std::vector<Alarm>& alarms) const {
    for (const Held& held : device.held) {
        if (held.slot) continue;
        const ProcessKey key{held.process.pid, held.process.start_ticks};
        if (now.contains(key)) continue;  // of another device of the same container
        Count count = seen.unguarded[key];
        if (++count.looks > kPatience) {
            const bool end = policy_ == WatchdogPolicy::kKill;
            if (!count.told || end) {
                alarms.push_back({.kind = Alarm::Kind::kUnguarded,
                                  .region = region,
                                  .uuid = device.uuid,
                                  .process = held.process,
                                  .held_bytes = held.bytes.value_or(0),
                                  .limit_bytes = limit,
                                  .kill = end});
            }
            count.told = true;
            if (end) count.looks = 0;
        }
        now[key] = count;
    }
}

void Watchdog::look_at_sum(const std::string& region, const DeviceReading& device,
                           std::uint64_t limit, Seen& seen, std::vector<Alarm>& alarms) const {
    const std::uint64_t sum = device.held_bytes();
    if (limit == 0 || sum <= saturating_add(limit, slack_.of(limit))) {
        seen.over.erase(device.uuid);
        return;
    }
    Count& count = seen.over[device.uuid];
    if (++count.looks <= kPatience) return;
    const bool end = policy_ == WatchdogPolicy::kKill;
    if (count.told && !end) return;
    count.told = true;
    if (end) count.looks = 0;
    Alarm alarm{.kind = Alarm::Kind::kOverLimit,
                .region = region,
                .uuid = device.uuid,
                .held_bytes = sum,
                .limit_bytes = limit};
    const Held* const last = last_comer(device);
    if (last != nullptr) alarm.process = last->process;
    alarm.kill = end && last != nullptr;
    alarms.push_back(std::move(alarm));
}

std::vector<Alarm> Watchdog::look(const std::string& region, const Reading& reading,
                                  const std::vector<std::uint64_t>& limits) {
    std::vector<Alarm> alarms;
    Seen& seen = regions_[region];
    if (!reading.ledger) {
        // Who has joined is not known, so nobody is unguarded. The sums are the driver's.
        if (++seen.ledger.looks > kPatience && !seen.ledger.told) {
            seen.ledger.told = true;
            alarms.push_back({.kind = Alarm::Kind::kLedger, .region = region});
        }
    } else {
        seen.ledger = {};
    }
    std::map<ProcessKey, Count> now;
    bool answered = true;
    for (std::size_t i = 0; i < reading.devices.size(); ++i) {
        const DeviceReading& device = reading.devices[i];
        answered = answered && device.answered;
        if (!device.answered) continue;
        const std::uint64_t limit = i < limits.size() ? limits[i] : 0;
        if (reading.ledger) look_for_unguarded(region, device, limit, seen, now, alarms);
        look_at_sum(region, device, limit, seen, alarms);
    }
    if (reading.ledger && answered) seen.unguarded = std::move(now);
    // One process of a container per look.
    bool one = false;
    for (Alarm& alarm : alarms) {
        if (alarm.kill && std::exchange(one, true)) alarm.kill = false;
    }
    return alarms;
}

}  // namespace aliquot::guard_region
