// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_link.h"

#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/log.h"
#include "base/quantity.h"
#include "catalog/gpu_models.h"
#include "region/guard_library.h"
#include "region/node_page.h"
#include "sharing/replica_id.h"

namespace aliquot::agent {
namespace {

constexpr char kPreload[] = "/etc/ld.so.preload";
constexpr std::size_t kMostEvents = 64;
constexpr std::chrono::milliseconds kBetweenNamings{2000};

std::int64_t unix_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::vector<std::string> sorted(std::span<const std::string> ids) {
    std::vector<std::string> result(ids.begin(), ids.end());
    std::ranges::sort(result);
    return result;
}

unsigned multiprocessors_of(const gpu::Gpu& gpu) {
    constexpr unsigned kMibShift = 20;
    const catalog::GpuModel* const model =
        catalog::find_gpu_model(gpu.model, static_cast<unsigned>(gpu.memory_bytes >> kMibShift));
    if (model == nullptr) return 0;
    return region::multiprocessors_of(model->cuda_cores, gpu.compute_major, gpu.compute_minor);
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

region::Limits limits_of(const kubelet::Grant::Share& share) {
    return {.uuid = share.gpu_uuid,
            .memory_bytes = share.memory_bytes.value_or(0),
            .cap_ppm = share.compute_percent.value_or(0) * region::kPpmPerPercent,
            .weight = share.weight.value_or(0)};
}

region::WatchdogPolicy policy_of(const sharing::GuardConfig& config) {
    return config.kill ? region::WatchdogPolicy::kKill : region::WatchdogPolicy::kReport;
}

region::Slack slack_of(const sharing::GuardConfig& config) {
    return {.percent = config.slack_percent, .bytes = config.slack_bytes};
}

std::string name_of(const region::Record& record) {
    return record.holder.empty() ? "region " + record.id : record.holder;
}

os::Root root_with_proc(const os::Root& root) {
    return root.exists("/proc/self/stat") ? root : os::Root("/");
}

std::string contexts_file(const std::string& base) { return base + "/contexts"; }

}  // namespace

std::span<const int> guard_capabilities() {
    static constexpr std::array kNeeded{CAP_SYS_PTRACE, CAP_KILL};
    return kNeeded;
}

std::vector<region::Limits> limits_for(const sharing::Resource& resource,
                                       std::span<const std::string> ids) {
    std::map<std::string, unsigned> replicas;
    for (const std::string& id : ids) {
        const auto replica = sharing::parse_replica_id(id);
        ++replicas[replica ? replica->gpu.text : id];
    }
    std::vector<region::Limits> limits;
    for (const sharing::OfferedGpu& offered : resource.gpus) {
        const auto found = replicas.find(offered.uuid().text);
        if (found == replicas.end() || offered.mps) continue;
        const unsigned count = found->second;
        constexpr unsigned kWhole = 100;
        limits.push_back({.uuid = offered.uuid().text,
                          .memory_bytes = offered.memory_bytes.value_or(0) * count,
                          .cap_ppm = std::min(kWhole, offered.compute_percent.value_or(0) * count) *
                                     region::kPpmPerPercent,
                          .weight = offered.weight.value_or(0) * count});
    }
    return limits;
}

GuardLink::GuardLink(const os::Root& root, os::Clock& clock, Sources sources, Options options)
    : root_(root),
      proc_(root_with_proc(root)),
      clock_(clock),
      sources_(std::move(sources)),
      options_(std::move(options)),
      directory_(root, options_.regions),
      processes_(proc_),
      meter_(sources_.sensors, processes_),
      watchdog_(region::WatchdogPolicy::kReport, {}) {
    const auto learned = root_.read(contexts_file(options_.library_base));
    if (learned) estimates_.read(*learned);
    directory_.sweep();
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

GuardLink::~GuardLink() = default;

void GuardLink::apply(const sharing::GuardConfig& config, const sharing::Offer& offer) {
    const std::scoped_lock lock(mutex_);
    wish_ = {.config = config, .offer = offer};
    wish_is_new_ = true;
}

/// Installs the guard on first use, and again when it has gone. Under the lock.
Result<std::string> GuardLink::library_version() {
    const std::string file = options_.library_base + "/" + version_ + "/" + region::kLibraryFile;
    if (!version_.empty() && root_.exists(file)) return version_;
    auto version = region::install_guard(root_, options_.library_base, options_.library);
    if (!version) return std::move(version).error().during("the guard");
    version_ = *version;
    log::info("guard.installed", {{"version", version_}});
    return version;
}

/// Under the lock.
std::uint64_t GuardLink::context_bytes(const std::string& uuid) {
    const auto seen = sources_.observations.get().value;
    const gpu::Gpu* const gpu = seen ? gpu_of(seen->inventory, uuid) : nullptr;
    if (gpu == nullptr) return region::first_estimate(0);
    return estimates_.estimate(
        {.model = gpu->model, .driver_version = seen->inventory.driver_version},
        multiprocessors_of(*gpu));
}

/// Under the lock.
Result<Done> GuardLink::make_region(const std::string& resource, std::span<const std::string> ids,
                                    kubelet::Grant& grant) {
    const auto version = library_version();
    if (!version) return version.error();
    region::Settings settings{.fail_open = wish_.config.fail_open};
    region::Record record{.resource = resource,
                          .device_ids = sorted(ids),
                          .library = *version,
                          .created_s = unix_seconds()};
    for (const kubelet::Grant::Share& share : grant.shares) {
        region::Limits limits = limits_of(share);
        limits.context_bytes = context_bytes(share.gpu_uuid);
        settings.devices.push_back(limits);
        record.uuids.push_back(share.gpu_uuid);
    }
    if (!socket_) listen();
    auto made = directory_.create(std::move(record), settings);
    if (!made) return std::move(made).error();
    if (socket_) {
        const auto linked = socket_->link(directory_.file(made->id, abi::kNodeFile));
        if (!linked) log::warning("guard.no_node_page", {{"why", linked.error().message}});
    }
    const std::string guard = directory_.guard_path(made->id);
    const std::string library = options_.library_base + "/" + *version;
    grant.mounts.push_back({.container_path = abi::kGuardDirectory, .host_path = guard});
    grant.mounts.push_back(
        {.container_path = std::string(abi::kGuardDirectory) + "/" + abi::kLedgerFile,
         .host_path = guard + "/" + abi::kLedgerFile,
         .read_only = false});
    grant.mounts.push_back({.container_path = region::kLibraryDirectory, .host_path = library});
    grant.mounts.push_back(
        {.container_path = kPreload, .host_path = library + "/" + region::kPreloadFile});
    return Done{};
}

Result<Done> GuardLink::complete(const std::string& resource, std::span<const std::string> ids,
                                 kubelet::Grant& grant) {
    if (std::ranges::none_of(grant.shares, &kubelet::Grant::Share::guarded)) return Done{};
    const std::scoped_lock lock(mutex_);
    const auto made = make_region(resource, ids, grant);
    problem_ = made ? "" : made.error().message;
    if (made) return Done{};
    const bool open = wish_.config.fail_open;
    const std::string message =
        made.error().message +
        (open ? "; the container runs without limits (sharing.guard.fail: open)"
              : "; limits cannot be kept, so the container is refused (sharing.guard.fail: open "
                "would run it without)");
    note({.kind = open ? "open" : "refused", .container = resource, .message = message});
    if (open) return Done{};
    return Error{ErrorCode::kUnavailable, message};
}

/// Under the lock, or before there is anybody else.
void GuardLink::note(GuardEvent event) {
    event.at = std::chrono::system_clock::now();
    log::warning("guard." + event.kind,
                 {{"container", event.container}, {"message", event.message}});
    events_.push_back(std::move(event));
    if (events_.size() > kMostEvents) events_.pop_front();
}

std::vector<pid_t> GuardLink::tenants_processes() {
    std::set<std::string> regions;
    for (const region::Record& record : directory_.list()) regions.insert(record.id);
    std::vector<pid_t> pids;
    if (regions.empty()) return pids;
    constexpr std::size_t kMostProcesses = 100'000;
    const auto names = proc_.list("/proc", kMostProcesses);
    if (!names) return pids;
    region::HostProcesses processes(proc_);
    for (const std::string& name : *names) {
        pid_t pid = 0;
        const auto [stop, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (problem != std::errc{} || stop != name.data() + name.size()) continue;
        const auto process = processes.look(pid);
        if (process && regions.contains(process->region)) pids.push_back(pid);
    }
    return pids;
}

/// Makes the node page and its socket. Containers that an earlier agent has started bring theirs.
/// Under the lock. A failure leaves weights without effect, which their guards remark.
void GuardLink::listen() {
    const std::string file = options_.regions + "/node.sock";
    if (const auto made = root_.make_directories(options_.regions, 0700); !made) return;
    auto page = region::find_node_memory(proc_, tenants_processes());
    if (!page) page = region::make_node_memory();
    if (!page) {
        log::warning("guard.no_node_page", {{"why", page.error().message}});
        return;
    }
    auto socket = region::NodeSocket::listen(root_.resolve(file), *std::move(page));
    if (!socket) {
        log::warning("guard.no_node_page", {{"why", socket.error().message}});
        return;
    }
    socket_ = *std::move(socket);
    for (const region::Record& record : directory_.list()) {
        (void)socket_->link(directory_.file(record.id, abi::kNodeFile));
    }
}

void GuardLink::run(const std::stop_token& stop) {
    {
        const std::scoped_lock lock(mutex_);
        if (!directory_.list().empty()) listen();
    }
    do {
        track_new();
        change_limits();
        look();
        collect();
    } while (clock_.sleep_for(options_.between_looks, stop));
}

void GuardLink::track_new() {
    for (region::Record& record : directory_.list()) {
        if (tracked_.contains(record.id)) continue;
        auto config = region::ConfigFile::open(directory_.file(record.id, abi::kConfigFile));
        auto ledger = region::LedgerFile::open(directory_.file(record.id, abi::kLedgerFile));
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
    for (auto& [id, tracked] : tracked_) {
        const auto resource = std::ranges::find(wish.offer.resources, tracked.record.resource,
                                                &sharing::Resource::name);
        if (resource == wish.offer.resources.end()) continue;
        const region::Settings now = tracked.config.settings();
        for (region::Limits& limits : limits_for(*resource, tracked.record.device_ids)) {
            const auto place = std::ranges::find(tracked.record.uuids, limits.uuid);
            const auto index = static_cast<std::size_t>(place - tracked.record.uuids.begin());
            if (index >= now.devices.size()) continue;
            const region::Limits& old = now.devices[index];
            limits.context_bytes = old.context_bytes;
            limits.kernel_limit = old.kernel_limit;
            region::Limits same = old;
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
    std::vector<region::Metered> regions;
    for (auto& [id, tracked] : tracked_) {
        regions.push_back({.id = id,
                           .ledger = &tracked.ledger,
                           .config = &tracked.config,
                           .uuids = tracked.record.uuids});
    }
    const std::vector<region::Reading> readings = meter_.look(regions);
    auto snapshot = std::make_shared<GuardSnapshot>();
    for (std::size_t i = 0; i < regions.size(); ++i) {
        const Tracked& tracked = tracked_.at(regions[i].id);
        const region::Settings settings = tracked.config.settings();
        snapshot->regions.push_back(region::make_status(tracked.record, settings, readings[i]));
        std::vector<std::uint64_t> limits;
        for (const region::Limits& device : settings.devices) limits.push_back(device.memory_bytes);
        for (const region::Alarm& alarm : watchdog_.look(regions[i].id, readings[i], limits)) {
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

void GuardLink::learn(const Tracked& tracked, const region::Reading& reading) {
    const auto seen = sources_.observations.get().value;
    if (!seen || !reading.ledger) return;
    bool learned = false;
    const std::scoped_lock lock(mutex_);
    for (const region::SlotTruth& truth : reading.truths) {
        const region::SlotView* const slot = reading.ledger->find(truth.slot, truth.owner);
        for (std::size_t i = 0; slot != nullptr && i < tracked.record.uuids.size(); ++i) {
            const auto& bytes = truth.overhead_bytes[i];
            const gpu::Gpu* const gpu = gpu_of(seen->inventory, tracked.record.uuids[i]);
            if (!bytes || *bytes == abi::kNotMeasured || gpu == nullptr) continue;
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

void GuardLink::raise(const region::Alarm& alarm, const Tracked& tracked) {
    std::string message;
    const std::string who = alarm.process ? "process " + std::to_string(alarm.process->pid) + " (" +
                                                alarm.process->command + ")"
                                          : std::string();
    switch (alarm.kind) {
        case region::Alarm::Kind::kUnguarded:
            message = who + " holds " + bytes_text(alarm.held_bytes) + " of " + alarm.uuid +
                      " beside the guard";
            break;
        case region::Alarm::Kind::kOverLimit:
            message = "holds " + bytes_text(alarm.held_bytes) + " of " + alarm.uuid +
                      ", more than its limit of " + bytes_text(alarm.limit_bytes);
            break;
        case region::Alarm::Kind::kLedger:
            message = "its ledger cannot be read: the container has damaged it";
            break;
    }
    {
        const std::scoped_lock lock(mutex_);
        note({.kind = std::string(to_text(alarm.kind)),
              .container = name_of(tracked.record),
              .message = message});
    }
    if (!alarm.kill) return;
    // Once more, at the last moment: of this container, and still the same process.
    const auto now = processes_.look(alarm.process->pid);
    if (!now || *now != *alarm.process || now->region != tracked.record.id) return;
    const auto killed = processes_.kill(*now);
    const std::scoped_lock lock(mutex_);
    note({.kind = killed ? "killed" : "not_killed",
          .container = name_of(tracked.record),
          .message = killed ? who + " was ended (sharing.guard.watchdog: kill)"
                            : who + " cannot be ended: " + killed.error().message});
}

/// Returns whether kubelet has answered; regions are then named, and the others are nobody's.
bool GuardLink::name_holders() {
    const auto holders = sources_.holders();
    if (!holders) return false;
    for (auto& [id, tracked] : tracked_) {
        const auto holder = std::ranges::find_if(*holders, [&](const kubelet::Holder& one) {
            return one.resource == tracked.record.resource && one.ids == tracked.record.device_ids;
        });
        if (holder == holders->end()) continue;
        // Of several with the same devices the newest is meant: kubelet gives them anew only when
        // they are free.
        const bool newer = std::ranges::any_of(tracked_, [&](const auto& entry) {
            const region::Record& other = entry.second.record;
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
    const bool unnamed = std::ranges::any_of(
        tracked_, [](const auto& entry) { return entry.second.record.holder.empty(); });
    if (tracked_.empty() || (now < next_collection_ && !(unnamed && now >= next_naming_))) return;
    next_naming_ = now + kBetweenNamings;
    const bool due = now >= next_collection_;
    if (!name_holders() || !due) return;
    next_collection_ = now + options_.between_collections;
    std::set<std::string> used;
    for (auto entry = tracked_.begin(); entry != tracked_.end();) {
        const Tracked& tracked = entry->second;
        if (now - tracked.last_held < options_.grace || tracked.ledger.held()) {
            used.insert(tracked.record.library);
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
    for (const region::Record& record : directory_.list()) used.insert(record.library);
    if (!version_.empty()) used.insert(version_);
    if (!used.empty()) region::remove_guards(root_, options_.library_base, used);
}

}  // namespace aliquot::agent
