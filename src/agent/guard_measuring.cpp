// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_measuring.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "agent/region_holder.h"
#include "base/log.h"
#include "k8s/memory_amount.h"

namespace aliquot::agent {
namespace {

constexpr std::chrono::milliseconds kBetweenNamings{2000};
constexpr std::chrono::seconds kBetweenRecoveries{10};

guard_region::WatchdogPolicy policy_of(const sharing::GuardConfig& config) {
    return config.kill ? guard_region::WatchdogPolicy::kKill
                       : guard_region::WatchdogPolicy::kReport;
}

guard_region::Slack slack_of(const sharing::GuardConfig& config) {
    return {.percent = config.slack_percent, .bytes = config.slack_bytes};
}

std::string name_of(const guard_region::Record& record) {
    return record.holder.empty() ? "region " + record.id : record.holder;
}

}  // namespace

std::vector<guard_region::Limits> limits_for(const sharing::Resource& resource,
                                             std::span<const std::string> ids) {
    std::vector<guard_region::Limits> limits;
    for (const sharing::OfferedGpu& offered : resource.gpus) {
        if (offered.by_mps() || offered.frozen) continue;
        const auto held = std::ranges::count_if(ids, [&](const std::string& id) {
            return sharing::replica_of(offered, id).has_value();
        });
        if (held == 0) continue;
        const grant::Grant::Share share = sharing::share_of(offered, static_cast<unsigned>(held));
        limits.push_back(guard_region::limits_of(share.gpu_uuid, share.limits));
    }
    return limits;
}

guard_region::Settings GuardMeasuring::settings_of(const Tracked& tracked) {
    return tracked.config ? tracked.config->settings() : tracked.assumed;
}

GuardMeasuring::GuardMeasuring(Parts parts, Sources sources, Options options)
    : parts_(parts),
      sources_(std::move(sources)),
      options_(options),
      processes_(parts_.proc, parts_.regions.directory().real_place()),
      meter_(sources_.sensors, processes_),
      watchdog_(guard_region::WatchdogPolicy::kReport, {}) {
    if (sources_.owner_of) {
        processes_.set_find([this](pid_t pid) {
            const auto owner = sources_.owner_of(pid);
            return owner ? region_of(*owner) : std::string();
        });
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void GuardMeasuring::apply(const sharing::GuardConfig& config, const sharing::Offer& offer) {
    const std::scoped_lock lock(mutex_);
    wanted_ = {.config = config, .offer = offer};
    wanted_is_new_ = true;
}

void GuardMeasuring::run(const std::stop_token& stop) {
    const std::vector<guard_region::Record> records = parts_.regions.list();
    for (const guard_region::Record& record : records) parts_.turns.connect(record.id);
    if (!records.empty()) parts_.ledgers.recover(records);
    do {
        track_new();
        change_limits();
        parts_.regions.try_again(parts_.clock.now());
        look();
        collect();
    } while (parts_.clock.sleep_for(options_.between_looks, stop));
}

/// Takes up the ledgers of regions that have none after a while.
void GuardMeasuring::recover_again() {
    const os::TimePoint now = parts_.clock.now();
    if (now < next_recovery_) return;
    next_recovery_ = now + kBetweenRecoveries;
    const auto settled =
        std::chrono::duration_cast<std::chrono::microseconds>(
            (std::chrono::system_clock::now() - kBetweenRecoveries).time_since_epoch())
            .count();
    std::vector<guard_region::Record> records = parts_.regions.list();
    std::erase_if(records, [&](const auto& one) { return one.created_us > settled; });
    if (!records.empty()) parts_.ledgers.recover(records);
}

void GuardMeasuring::track_new() {
    bool lost = false;
    const guard_region::Directory& directory = parts_.regions.directory();
    for (guard_region::Record& record : parts_.regions.list()) {
        if (tracked_.contains(record.id)) continue;
        const os::TimePoint now = parts_.clock.now();
        for (const std::string& group : record.groups) {
            processes_.containers().learn(group, record.id);
        }
        const std::string id = record.id;
        Tracked fresh{.record = std::move(record), .since = now, .last_held = now};
        auto config = guard_region::ConfigFile::open(directory.file(id, abi::kConfigFile));
        auto ledger = parts_.ledgers.open(id);
        // One that is being made, or that recover() has found no room for.
        if (config && !ledger && ledger.error().code == ErrorCode::kNotFound &&
            fresh.record.ledger != 0) {
            lost = true;
            continue;
        }
        if (config && ledger) {
            fresh.config = *std::move(config);
            fresh.ledger = *std::move(ledger);
        } else {
            fresh.problem = (config ? ledger.error() : config.error()).message;
            for (const std::string& uuid : fresh.record.uuids) {
                fresh.assumed.devices.push_back({.uuid = uuid});
            }
            parts_.events.note({.kind = GuardEvent::Kind::kOtherVersion,
                                .container = name_of(fresh.record),
                                .message = fresh.problem +
                                           "; what it holds is measured by the driver alone, and "
                                           "its limits stay as they are until it starts anew"});
            const std::scoped_lock lock(mutex_);
            wanted_is_new_ = true;  // the limits that it is held to
        }
        tracked_.emplace(id, std::move(fresh));
        next_naming_ = std::min(next_naming_, now);
    }
    if (lost) recover_again();
}

void GuardMeasuring::change_limits() {
    Wanted wanted;
    {
        const std::scoped_lock lock(mutex_);
        if (!wanted_is_new_) return;
        wanted_is_new_ = false;
        wanted = wanted_;
    }
    watchdog_.set(policy_of(wanted.config), slack_of(wanted.config));
    kernel_limit_ = wanted.config.kernel_limit;
    for (auto& [id, tracked] : tracked_) {
        const auto resource = std::ranges::find(wanted.offer.resources, tracked.record.resource,
                                                &sharing::Resource::name);
        if (resource != wanted.offer.resources.end()) change_limits(tracked, *resource);
    }
}

void GuardMeasuring::change_limits(Tracked& tracked, const sharing::Resource& resource) {
    const guard_region::Settings now = settings_of(tracked);
    for (guard_region::Limits& limits : limits_for(resource, tracked.record.device_ids)) {
        const auto place = std::ranges::find(tracked.record.uuids, limits.uuid);
        const auto index = static_cast<std::size_t>(place - tracked.record.uuids.begin());
        if (index >= now.devices.size()) continue;
        const guard_region::Limits& old = now.devices[index];
        limits.context_bytes = old.context_bytes;
        // The kernel module does not know the new one yet; until then the guard holds it.
        limits.kernel_limit = old.kernel_limit && limits.memory_bytes == old.memory_bytes;
        guard_region::Limits same = old;
        same.uuid = limits.uuid;
        if (same == limits) continue;
        if (!tracked.config) {
            tracked.assumed.devices[index] = limits;
            continue;
        }
        (void)tracked.config->set_limits(limits);
        log::info("guard.limits", {{"container", name_of(tracked.record)},
                                   {"gpu", limits.uuid},
                                   {"memory_bytes", limits.memory_bytes},
                                   {"cap_ppm", limits.cap_ppm},
                                   {"weight", limits.weight}});
    }
}

guard_region::Metered GuardMeasuring::metered(Tracked& tracked) {
    return {.id = tracked.record.id,
            .ledger = tracked.ledger ? &*tracked.ledger : nullptr,
            .config = tracked.config ? &*tracked.config : nullptr,
            .problem = tracked.problem,
            .uuids = tracked.record.uuids};
}

/// The region of a container, by the names that kubelet gave; empty: none, or it cannot be told.
std::string GuardMeasuring::region_of(const pods::Owner& owner) const {
    if (owner.pod.empty()) return {};
    const std::string pod = owner.pod_namespace + "/" + owner.pod + "/";
    const Tracked* chosen = nullptr;
    for (const auto& [id, tracked] : tracked_) {
        const std::string& holder = tracked.record.holder;
        if (!holder.starts_with(pod)) continue;
        if (!owner.container.empty() && holder != pod + owner.container) continue;
        // The container is not known, and the pod has several with a region.
        if (chosen != nullptr && chosen->record.holder != holder) return {};
        if (chosen == nullptr || chosen->record.created_us < tracked.record.created_us) {
            chosen = &tracked;
        }
    }
    return chosen == nullptr ? std::string() : chosen->record.id;
}

/// Which control groups are whose, for the next agent: a tenant may have hidden its mount by then.
void GuardMeasuring::keep_groups() {
    constexpr std::size_t kMostGroups = 8;  // a container that is started again has a new one
    for (guard_region::ContainerGroup& group : processes_.containers().take_news()) {
        const auto found = tracked_.find(group.region);
        if (found == tracked_.end()) continue;
        guard_region::Record& record = found->second.record;
        if (std::ranges::find(record.groups, group.path) != record.groups.end()) continue;
        record.groups.push_back(std::move(group.path));
        if (record.groups.size() > kMostGroups) record.groups.erase(record.groups.begin());
        const auto kept = parts_.regions.update(record);
        if (!kept) log::debug("guard.group_not_kept", {{"why", kept.error().message}});
    }
}

void GuardMeasuring::look() {
    std::vector<guard_region::Metered> regions;
    for (auto& [id, tracked] : tracked_) regions.push_back(metered(tracked));
    parts_.ledgers.drop_locks();
    const std::vector<guard_region::Reading> readings = meter_.look(regions);
    keep_groups();
    auto snapshot = std::make_shared<GuardSnapshot>();
    for (std::size_t i = 0; i < regions.size(); ++i) {
        Tracked& tracked = tracked_.at(regions[i].id);
        // Before anybody is told of them: a counter that was told must not go back.
        if (readings[i].ledger) parts_.ledgers.keep(regions[i].id, *readings[i].ledger);
        if (kernel_limit_) limit_by_kernel(tracked, readings[i]);
        const guard_region::Settings settings = settings_of(tracked);
        snapshot->regions.push_back(
            guard_region::make_status(tracked.record, settings, readings[i]));
        std::vector<std::uint64_t> limits;
        for (const guard_region::Limits& device : settings.devices)
            limits.push_back(device.memory_bytes);
        for (const guard_region::Alarm& alarm :
             watchdog_.look(regions[i].id, readings[i], limits)) {
            raise(alarm, tracked);
        }
        parts_.contexts.learn(tracked.record, readings[i], parts_.clock.now());
    }
    GuardRegions::State state = parts_.regions.state();
    snapshot->library = std::move(state.version);
    snapshot->problem = std::move(state.problem);
    snapshot->events = parts_.events.list();
    sources_.publish(std::move(snapshot));
}

/// The control group is known from the container's first process with GPU memory; until then, and
/// where the driver cannot, the guard holds the limit alone.
void GuardMeasuring::limit_by_kernel(Tracked& tracked, const guard_region::Reading& reading) {
    const guard_region::Settings settings = settings_of(tracked);
    for (std::size_t i = 0; i < reading.devices.size() && i < settings.devices.size(); ++i) {
        guard_region::Limits limits = settings.devices[i];
        const auto& held = reading.devices[i].held;
        if (!tracked.config || tracked.kernel_refused || limits.memory_bytes == 0 || held.empty() ||
            tracked.kernel_bytes[i] == limits.memory_bytes) {
            continue;
        }
        const std::string& group = held.front().process.group;
        if (group.size() < 2) continue;  // not in a group of its own, or not of cgroup v2
        const auto done = sources_.kernel.set_memory_limit(
            {reading.devices[i].uuid}, "/sys/fs/cgroup" + group, limits.memory_bytes);
        if (!done) {
            tracked.kernel_refused = true;
            parts_.events.note(
                {.kind = GuardEvent::Kind::kKernelLimit,
                 .container = name_of(tracked.record),
                 .message = done.error().message + "; the guard holds the limit alone"});
            return;
        }
        tracked.kernel_bytes[i] = limits.memory_bytes;
        limits.uuid = reading.devices[i].uuid;
        limits.kernel_limit = true;
        (void)tracked.config->set_limits(limits);
    }
}

void GuardMeasuring::raise(const guard_region::Alarm& alarm, const Tracked& tracked) {
    GuardEvent event{.container = name_of(tracked.record)};
    const std::string who = alarm.process ? "process " + std::to_string(alarm.process->pid) + " (" +
                                                alarm.process->command + ")"
                                          : std::string();
    switch (alarm.kind) {
        case guard_region::Alarm::Kind::kUnguarded:
            event.message = who + " holds " + k8s::bytes_text(alarm.held_bytes) + " of " +
                            alarm.uuid + " beside the guard";
            break;
        case guard_region::Alarm::Kind::kOverLimit:
            event.kind = GuardEvent::Kind::kOverLimit;
            event.message = "holds " + k8s::bytes_text(alarm.held_bytes) + " of " + alarm.uuid +
                            ", more than its limit of " + k8s::bytes_text(alarm.limit_bytes);
            break;
        case guard_region::Alarm::Kind::kLedger:
            if (!tracked.ledger) return;  // said already, and it is not the container's doing
            event.kind = GuardEvent::Kind::kLedger;
            event.message = "its ledger cannot be read: the container has damaged it";
            break;
    }
    parts_.events.note(std::move(event));
    if (!alarm.kill) return;
    const auto killed = processes_.kill(*alarm.process);
    if (!killed && killed.error().code == ErrorCode::kNotFound) return;  // it has ended by itself
    parts_.events.note({.kind = killed ? GuardEvent::Kind::kKilled : GuardEvent::Kind::kNotKilled,
                        .container = name_of(tracked.record),
                        .message = killed ? who + " was ended (sharing.guard.watchdog: kill)"
                                          : who + " cannot be ended: " + killed.error().message});
}

/// Returns whether kubelet has answered; regions are then named, and the others are nobody's.
bool GuardMeasuring::name_holders() {
    const auto holders = sources_.holders();
    if (!holders) return false;
    // All that kubelet can have spoken of, also what was made while it was asked.
    const std::vector<guard_region::Record> known = parts_.regions.list();
    for (auto& named : tracked_) {
        Tracked& tracked = named.second;
        const auto holder = std::ranges::find_if(*holders, [&](const kubelet::Holder& one) {
            return one.resource == tracked.record.resource && holds(one.ids, tracked.record);
        });
        if (holder == holders->end()) continue;
        // Of several with the same devices the newest is meant: kubelet gives them anew only when
        // they are free, or when an init container leaves them to the container that it names.
        const bool newer = std::ranges::any_of(known, [&](const guard_region::Record& other) {
            return other.resource == tracked.record.resource &&
                   other.device_ids == tracked.record.device_ids &&
                   other.created_us > tracked.record.created_us;
        });
        if (newer) continue;
        const std::string name =
            holder->pod_namespace + "/" + holder->pod + "/" + holder->container;
        tracked.last_held = parts_.clock.now();
        if (tracked.record.holder == name) continue;
        tracked.record.holder = name;
        if (tracked.config) tracked.config->set_container(name);
        const auto kept = parts_.regions.update(tracked.record);
        if (!kept) log::debug("guard.holder_not_kept", {{"why", kept.error().message}});
    }
    return true;
}

void GuardMeasuring::collect() {
    const os::TimePoint now = parts_.clock.now();
    const bool unnamed = std::ranges::any_of(tracked_, [&](const auto& entry) {
        const Tracked& tracked = entry.second;
        return tracked.record.holder.empty() && now - tracked.since < options_.grace;
    });
    if (tracked_.empty() || (now < next_collection_ && !(unnamed && now >= next_naming_))) return;
    next_naming_ = now + kBetweenNamings;
    const bool due = now >= next_collection_;
    if (!name_holders() || !due) return;
    next_collection_ = now + options_.between_collections;
    std::set<std::string> idle;
    std::set<std::string> present;
    for (const auto& record : parts_.regions.list()) present.insert(record.id);
    for (const auto& [id, tracked] : tracked_) {
        // Who prepares a claim unprepares it, and takes its region away then.
        if (is_claim(tracked.record)) {
            if (!present.contains(id)) idle.insert(id);
            continue;
        }
        if (now - tracked.last_held >= options_.grace &&
            !(tracked.ledger && tracked.ledger->held()))
            idle.insert(id);
    }
    // Kubelet does not list everybody, an init container for one; who still runs there may begin to
    // use the GPU at any time, and must find its limits.
    if (!idle.empty()) {
        for (const guard_region::HostProcess& one : processes_.tenants()) idle.erase(one.region);
    }
    for (auto entry = tracked_.begin(); entry != tracked_.end();) {
        const Tracked& tracked = entry->second;
        if (!idle.contains(entry->first)) {
            ++entry;
            continue;
        }
        parts_.ledgers.remove(entry->first);
        parts_.turns.remove(entry->first);
        const auto removed = parts_.regions.remove(entry->first);
        if (!removed) log::warning("guard.not_removed", {{"why", removed.error().message}});
        log::info("guard.released", {{"container", name_of(tracked.record)}});
        watchdog_.forget(entry->first);
        processes_.forget(entry->first);
        entry = tracked_.erase(entry);
    }
    parts_.regions.remove_unused_guards();
}

}  // namespace aliquot::agent
