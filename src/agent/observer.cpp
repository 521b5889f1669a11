// SPDX-License-Identifier: Apache-2.0
#include "agent/observer.h"

#include <algorithm>

#include "base/log.h"

namespace aliquot::agent {

namespace {

/// For people: when something came to be so. Nothing waits by it.
gpu::Moment wall_time() { return std::chrono::system_clock::now(); }

/// Whether links between the GPUs of the one are links between those of the other.
bool same_gpus(const gpu::Inventory& before, const gpu::Inventory& now) {
    return std::ranges::equal(before.gpus, now.gpus, {}, &gpu::Gpu::uuid, &gpu::Gpu::uuid);
}

}  // namespace

gpu::Inventory offerable(const Observation& seen) {
    gpu::Inventory inventory = seen.inventory;
    const gpu::Health health{.state = gpu::Health::State::kUnhealthy,
                             .reason = seen.withheld_reason};
    for (gpu::Gpu& gpu : inventory.gpus) {
        if (!seen.withheld.contains(gpu.uuid)) continue;
        gpu.health = health;
        for (gpu::MigDevice& device : gpu.mig_devices) device.health = health;
    }
    return inventory;
}

Observer::Observer(gpu::Sensors& sensors, os::Clock& clock, gpu::XidPolicy policy,
                   ObserverOptions options)
    : sensors_(sensors), clock_(clock), options_(options), book_(std::move(policy)) {}

Observer::~Observer() = default;

Result<Done> Observer::start() {
    const std::scoped_lock lock(looking_);
    // kubelet waits for the devices, nobody for the links: watch() reads those a moment later.
    enumerate(gpu::Links::kLeaveOut);
    (void)ask_each();  // a GPU that waits for a reset enumerates well, and is not to be offered
    publish();
    const std::string problem = driver_problem_;
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    if (!problem.empty()) return Error{ErrorCode::kUnavailable, problem};
    return Done{};
}

std::uint64_t Observer::withhold(std::set<gpu::Uuid> gpus, std::string reason) {
    const std::scoped_lock lock(looking_);
    withheld_ = std::move(gpus);
    withheld_reason_ = std::move(reason);
    publish();
    return latest_.get().version;
}

std::uint64_t Observer::look_now() {
    const std::scoped_lock lock(looking_);
    enumerate(gpu::Links::kLeaveOut);
    publish();
    return latest_.get().version;
}

bool Observer::enumerate(gpu::Links links) {
    auto seen = sensors_.enumerate(links);
    if (!seen) {
        return note_driver_problem(seen.error());
    }
    const bool recovered = !driver_problem_.empty();
    if (recovered) log::info("driver.available");
    driver_problem_.clear();
    book_.note_driver("", wall_time());
    gpu::Inventory next = gpu::with_memory_of(inventory_, *std::move(seen));
    // Also when they could not be read: a GPU that hangs does not answer about its links.
    if ((links == gpu::Links::kLeaveOut || next.links.empty()) && same_gpus(inventory_, next)) {
        next.links = inventory_.links;
    }
    const bool changed = !(next == inventory_) || recovered;
    inventory_ = std::move(next);
    return book_.note_inventory(inventory_, wall_time()) || changed;
}

bool Observer::probe() {
    const bool silent_driver = !driver_problem_.empty();
    if (inventory_.gpus.empty()) return false;
    const auto changed = ask_each();
    if (!changed) return note_driver_problem(changed.error());
    // A GPU that answers again may have been replaced, and one that stopped may be gone: look anew.
    if (*changed || silent_driver) enumerate(gpu::Links::kRead);
    return *changed || silent_driver;
}

Result<bool> Observer::ask_each() {
    std::vector<gpu::Uuid> gpus;
    for (const gpu::Gpu& one : inventory_.gpus) {
        if (!one.uuid.text.empty()) gpus.push_back(one.uuid);
    }
    if (gpus.empty()) return false;
    const auto probes = sensors_.probe(gpus);
    if (!probes) return probes.error();
    return book_.note_probes(*probes, wall_time());
}

bool Observer::note_driver_problem(const Error& error) {
    const bool changed = driver_problem_ != error.message;
    driver_problem_ = error.message;
    if (changed) log::error("driver.unavailable", {{"why", driver_problem_}});
    // A driver that only does not answer says nothing about the GPUs. One whose library and kernel
    // module do not fit refuses every new process, so nothing new may be sent there.
    const bool unusable = error.code == ErrorCode::kConflict;
    return book_.note_driver(unusable ? error.message : "", wall_time()) || changed;
}

void Observer::publish() {
    Observation observation{.inventory = inventory_,
                            .driver_problem = driver_problem_,
                            .withheld = withheld_,
                            .withheld_reason = withheld_reason_};
    const auto before = latest_.get().value;
    for (gpu::Gpu& one : observation.inventory.gpus) {
        if (one.uuid.text.empty()) {
            one.health.advice = gpu::advice_for_silence(one.health.reason);
        } else {
            one.health = book_.health_of(one.uuid);
            observation.xids[one.uuid] = book_.seen_on(one.uuid);
            observation.xid_counts[one.uuid] = book_.counted_on(one.uuid);
        }
        for (gpu::MigDevice& device : one.mig_devices) {
            device.health = book_.health_of(one.uuid, device);
        }
        const gpu::Gpu* known = before ? before->inventory.find(one.uuid) : nullptr;
        if (known != nullptr && known->health == one.health) continue;
        if (one.health.state == gpu::Health::State::kDegraded) {
            log::warning("gpu.degraded", {{"gpu", one.uuid.text},
                                          {"index", one.index},
                                          {"why", one.health.reason},
                                          {"advice", one.health.advice}});
        } else if (!one.health.ok()) {
            log::warning("gpu.unhealthy", {{"gpu", one.uuid.text},
                                           {"index", one.index},
                                           {"why", one.health.reason},
                                           {"advice", one.health.advice}});
        } else if (known != nullptr) {
            log::info("gpu.healthy", {{"gpu", one.uuid.text}, {"index", one.index}});
        } else {
            log::info("gpu.found", {{"gpu", one.uuid.text},
                                    {"index", one.index},
                                    {"model", one.model},
                                    {"memory_bytes", one.memory_bytes}});
        }
    }
    latest_.publish(std::move(observation));
}

bool Observer::note_events(const std::vector<gpu::FaultEvent>& events) {
    bool instances = false;
    bool faults = false;
    for (const gpu::FaultEvent& event : events) {
        if (event.reconfigured) {
            log::info("gpu.mig_changed", {{"gpu", event.gpu.text}});
        } else {
            log::warning("gpu.xid", {{"gpu", event.gpu.text}, {"xid", event.xid}});
        }
        // Whoever has a GPU withheld changes it, and has it looked at when he is done.
        if (event.reconfigured) instances = instances || !withheld_.contains(event.gpu);
        if (!event.reconfigured) faults = true;
    }
    bool changed = book_.note_faults(events, wall_time());
    if (faults) changed = probe() || changed;
    if (instances) changed = look_at_instances() || changed;
    return changed;
}

/// MIG instances come and go while nobody tells: the GPUs that can have some are looked at as often
/// as they are probed.
bool Observer::look_at_instances() {
    const bool some = std::ranges::any_of(inventory_.gpus, &gpu::Gpu::mig_capable);
    return some && driver_problem_.empty() && enumerate(gpu::Links::kLeaveOut);
}

void Observer::watch(const std::stop_token& stop) {
    auto next_probe = clock_.now() + options_.probe_interval;
    auto next_enumerate =
        clock_.now();  // after the first wait for faults: the links are still missing
    while (!stop.stop_requested()) {
        const auto wait =
            std::min<std::chrono::milliseconds>(options_.fault_wait, options_.probe_interval);
        const auto faults = sensors_.wait_faults(wait);
        // No events to be had: probes must do, at their own pace.
        if (!faults && !clock_.sleep_for(wait, stop)) break;
        const std::scoped_lock lock(looking_);
        bool changed = faults && !faults->empty() && note_events(*faults);
        if (clock_.now() >= next_probe) {
            changed = probe() || changed;
            changed = look_at_instances() || changed;
            next_probe = clock_.now() + options_.probe_interval;
        }
        if (clock_.now() >= next_enumerate || inventory_.gpus.empty()) {
            if (clock_.now() >= next_enumerate || clock_.now() >= next_probe) {
                next_enumerate = clock_.now() + options_.enumerate_interval;
            }
            changed = enumerate(gpu::Links::kRead) || changed;
        }
        if (changed) publish();
    }
}

}  // namespace aliquot::agent
