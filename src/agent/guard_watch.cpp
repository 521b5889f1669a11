// SPDX-License-Identifier: Apache-2.0
// The guard's thread: looks at ledgers and driver, changes limits, raises alarms, collects.
#include <algorithm>
#include <utility>

#include "agent/guard_link.h"
#include "base/log.h"
#include "catalog/gpu_models.h"
#include "guard_region/guard_library.h"
#include "guard_region/uuid.h"
#include "k8s/memory_amount.h"

namespace aliquot::agent {
namespace {

constexpr std::chrono::seconds kBetweenTries{5};  // to make a share after one could not be
constexpr std::chrono::milliseconds kBetweenNamings{2000};

unsigned multiprocessors_of(const gpu::Gpu& gpu) {
    constexpr unsigned kMibShift = 20;
    const catalog::GpuModel* const model =
        catalog::find_gpu_model(gpu.model, static_cast<unsigned>(gpu.memory_bytes >> kMibShift));
    if (model == nullptr) return 0;
    return guard_region::multiprocessors_of(model->cuda_cores, gpu.compute_major,
                                            gpu.compute_minor);
}

/// The GPU with this name, or from which the MIG device with this name is cut.
const gpu::Gpu* gpu_of(const gpu::Inventory& inventory, const std::string& uuid) {
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (gpu.uuid.text == uuid) return &gpu;
        for (const gpu::MigDevice& mig : gpu.mig_devices) {
            if (mig.uuid.text == uuid) return &gpu;
        }
    }
    return nullptr;
}

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

std::string contexts_file(const std::string& base) { return base + "/contexts"; }

}  // namespace

/// What was learned before.
void GuardLink::recall() {
    const auto learned = root_.read(contexts_file(options_.library_base));
    if (learned) estimates_.read(*learned);
}

/// Under the lock.
std::uint64_t GuardLink::context_bytes(const std::string& uuid) {
    const auto seen = sources_.observations.get().value;
    const gpu::Gpu* const gpu = seen ? gpu_of(seen->inventory, uuid) : nullptr;
    if (gpu == nullptr) return guard_region::first_estimate(0);
    return estimates_.estimate(
        {.model = gpu->model, .driver_version = seen->inventory.driver_version},
        multiprocessors_of(*gpu));
}

void GuardLink::run(const std::stop_token& stop) {
    {
        const std::scoped_lock lock(mutex_);
        if (!socket_ && !directory_.list().empty()) listen();
    }
    do {
        track_new();
        change_limits();
        try_again();
        look();
        collect();
    } while (clock_.sleep_for(options_.between_looks, stop));
}

/// While the last share could not be made: tries by a region that nobody gets, so that the node says so for as long as
/// it is so.
void GuardLink::try_again() {
    const std::scoped_lock lock(mutex_);
    if (problem_.empty() || clock_.now() < next_try_) return;
    next_try_ = clock_.now() + kBetweenTries;
    const auto version = library_version();
    auto made = version ? directory_.create({}, {}) : Result<guard_region::Record>(version.error());
    problem_ = made ? "" : made.error().message;
    if (made) (void)directory_.remove(made->id);
}

void GuardLink::track_new() {
    for (guard_region::Record& record : directory_.list()) {
        if (tracked_.contains(record.id)) continue;
        auto config = guard_region::ConfigFile::open(directory_.file(record.id, abi::kConfigFile));
        auto ledger = guard_region::LedgerFile::open(directory_.file(record.id, abi::kLedgerFile));
        if (!config || !ledger) continue;
        const std::string id = record.id;
        tracked_.emplace(id, Tracked{.record = std::move(record),
                                     .config = *std::move(config),
                                     .ledger = *std::move(ledger),
                                     .since = clock_.now(),
                                     .last_held = clock_.now()});
        next_naming_ = std::min(next_naming_, clock_.now());
    }
}

void GuardLink::change_limits() {
    Wish wish;
    {
        const std::scoped_lock lock(mutex_);
        if (!wish_is_new_) return;
        wish_is_new_ = false;
        wish = wish_;
    }
    watchdog_.set(policy_of(wish.config), slack_of(wish.config));
    kernel_limit_ = wish.config.kernel_limit;
    for (auto& [id, tracked] : tracked_) {
        const auto resource = std::ranges::find(wish.offer.resources, tracked.record.resource,
                                                &sharing::Resource::name);
        if (resource == wish.offer.resources.end()) continue;
        const guard_region::Settings now = tracked.config.settings();
        for (guard_region::Limits& limits : limits_for(*resource, tracked.record.device_ids)) {
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
            (void)tracked.config.set_limits(limits);
            log::info("guard.limits", {{"container", name_of(tracked.record)},
                                       {"gpu", limits.uuid},
                                       {"memory_bytes", limits.memory_bytes},
                                       {"cap_ppm", limits.cap_ppm},
                                       {"weight", limits.weight}});
        }
    }
}

void GuardLink::look() {
    std::vector<guard_region::Metered> regions;
    for (auto& [id, tracked] : tracked_) {
        regions.push_back({.id = id,
                           .ledger = &tracked.ledger,
                           .config = &tracked.config,
                           .uuids = tracked.record.uuids});
    }
    const std::vector<guard_region::Reading> readings = meter_.look(regions);
    auto snapshot = std::make_shared<GuardSnapshot>();
    for (std::size_t i = 0; i < regions.size(); ++i) {
        Tracked& tracked = tracked_.at(regions[i].id);
        if (kernel_limit_) limit_by_kernel(tracked, readings[i]);
        const guard_region::Settings settings = tracked.config.settings();
        snapshot->regions.push_back(
            guard_region::make_status(tracked.record, settings, readings[i]));
        std::vector<std::uint64_t> limits;
        for (const guard_region::Limits& device : settings.devices)
            limits.push_back(device.memory_bytes);
        for (const guard_region::Alarm& alarm :
             watchdog_.look(regions[i].id, readings[i], limits)) {
            raise(alarm, tracked);
        }
        learn(tracked, readings[i]);
    }
    const std::scoped_lock lock(mutex_);
    snapshot->library = version_;
    snapshot->problem = problem_;
    snapshot->events.assign(events_.begin(), events_.end());
    sources_.publish(std::move(snapshot));
}

void GuardLink::learn(const Tracked& tracked, const guard_region::Reading& reading) {
    const auto seen = sources_.observations.get().value;
    if (!seen || !reading.ledger) return;
    bool learned = false;
    const std::scoped_lock lock(mutex_);
    for (const guard_region::SlotTruth& truth : reading.truths) {
        const guard_region::SlotView* const slot = reading.ledger->find(truth.slot, truth.owner);
        for (std::size_t i = 0; slot != nullptr && i < tracked.record.uuids.size(); ++i) {
            const auto& bytes = truth.overhead_bytes[i];
            const gpu::Gpu* const gpu = gpu_of(seen->inventory, tracked.record.uuids[i]);
            if (!bytes || *bytes == abi::kNotMeasured || gpu == nullptr) continue;
            const auto uuid = guard_region::parse_uuid(tracked.record.uuids[i]);
            const auto place = uuid ? reading.ledger->place_of(*uuid) : std::nullopt;
            if (!place || slot->devices[*place].contexts != 1) continue;
            const std::string process = tracked.record.id + ":" + std::to_string(truth.owner);
            learned |= estimates_.note(
                {.model = gpu->model, .driver_version = seen->inventory.driver_version},
                multiprocessors_of(*gpu), process, *bytes, clock_.now());
        }
    }
    if (!learned) return;
    const auto kept =
        root_.write_atomically(contexts_file(options_.library_base), estimates_.to_text(), 0600);
    if (!kept) log::debug("guard.estimates_not_kept", {{"why", kept.error().message}});
}

/// The control group is known from the container's first process with GPU memory; until then, and
/// where the driver cannot, the guard holds the limit alone.
void GuardLink::limit_by_kernel(Tracked& tracked, const guard_region::Reading& reading) {
    const guard_region::Settings settings = tracked.config.settings();
    for (std::size_t i = 0; i < reading.devices.size() && i < settings.devices.size(); ++i) {
        guard_region::Limits limits = settings.devices[i];
        const auto& held = reading.devices[i].held;
        if (tracked.kernel_refused || limits.memory_bytes == 0 || held.empty() ||
            tracked.kernel_bytes[i] == limits.memory_bytes) {
            continue;
        }
        const std::string& group = held.front().process.cgroup;
        if (group.size() < 2) continue;  // not in a group of its own, or not of cgroup v2
        const auto done = sources_.kernel.set_memory_limit(
            {reading.devices[i].uuid}, "/sys/fs/cgroup" + group, limits.memory_bytes);
        if (!done) {
            tracked.kernel_refused = true;
            const std::scoped_lock lock(mutex_);
            note({.kind = GuardEvent::Kind::kKernelLimit,
                  .container = name_of(tracked.record),
                  .message = done.error().message + "; the guard holds the limit alone"});
            return;
        }
        tracked.kernel_bytes[i] = limits.memory_bytes;
        limits.uuid = reading.devices[i].uuid;
        limits.kernel_limit = true;
        (void)tracked.config.set_limits(limits);
    }
}

void GuardLink::raise(const guard_region::Alarm& alarm, const Tracked& tracked) {
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
            event.kind = GuardEvent::Kind::kLedger;
            event.message = "its ledger cannot be read: the container has damaged it";
            break;
    }
    {
        const std::scoped_lock lock(mutex_);
        note(std::move(event));
    }
    if (!alarm.kill) return;
    // Once more, at the last moment: of this container, and still the same process.
    const auto now = processes_.look(alarm.process->pid);
    if (!now || *now != *alarm.process || now->region != tracked.record.id) return;
    const auto killed = processes_.kill(*now);
    const std::scoped_lock lock(mutex_);
    note({.kind = killed ? GuardEvent::Kind::kKilled : GuardEvent::Kind::kNotKilled,
          .container = name_of(tracked.record),
          .message = killed ? who + " was ended (sharing.guard.watchdog: kill)"
                            : who + " cannot be ended: " + killed.error().message});
}

/// Returns whether kubelet has answered; regions are then named, and the others are nobody's.
bool GuardLink::name_holders() {
    const auto holders = sources_.holders();
    if (!holders) return false;
    for (auto& named : tracked_) {
        Tracked& tracked = named.second;
        const auto holder = std::ranges::find_if(*holders, [&](const kubelet::Holder& one) {
            return one.resource == tracked.record.resource && one.ids == tracked.record.device_ids;
        });
        if (holder == holders->end()) continue;
        // Of several with the same devices the newest is meant: kubelet gives them anew only when
        // they are free.
        const bool newer = std::ranges::any_of(tracked_, [&](const auto& entry) {
            const guard_region::Record& other = entry.second.record;
            return other.resource == tracked.record.resource &&
                   other.device_ids == tracked.record.device_ids &&
                   std::pair(other.created_s, entry.second.since) >
                       std::pair(tracked.record.created_s, tracked.since);
        });
        if (newer) continue;
        const std::string name =
            holder->pod_namespace + "/" + holder->pod + "/" + holder->container;
        tracked.last_held = clock_.now();
        if (tracked.record.holder == name) continue;
        tracked.record.holder = name;
        tracked.config.set_container(name);
        const auto kept = directory_.update(tracked.record);
        if (!kept) log::debug("guard.holder_not_kept", {{"why", kept.error().message}});
    }
    return true;
}

void GuardLink::collect() {
    const os::TimePoint now = clock_.now();
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
    for (const auto& [id, tracked] : tracked_) {
        if (now - tracked.last_held >= options_.grace && !tracked.ledger.held()) idle.insert(id);
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
        const auto removed = directory_.remove(entry->first);
        if (!removed) log::warning("guard.not_removed", {{"why", removed.error().message}});
        log::info("guard.released", {{"container", name_of(tracked.record)}});
        watchdog_.forget(entry->first);
        entry = tracked_.erase(entry);
    }
    const std::scoped_lock lock(mutex_);
    std::set<std::string> used;
    for (const guard_region::Record& record : directory_.list()) used.insert(record.library);
    if (!version_.empty()) used.insert(version_);
    if (!used.empty()) guard_region::remove_guards(root_, options_.library_base, used);
}

}  // namespace aliquot::agent
