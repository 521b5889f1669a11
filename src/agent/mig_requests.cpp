// SPDX-License-Identifier: Apache-2.0
#include "agent/mig_requests.h"

#include <algorithm>

#include "agent/region_holder.h"
#include "base/log.h"
#include "gpu/replica_id.h"
#include "mig/board.h"
#include "mig/state_directory.h"
#include "mig/well_known.h"

namespace aliquot::agent {
namespace {

using namespace std::chrono_literals;
using Kind = MigEvent::Kind;
using Outcome = MigPlan::Outcome;
using GpuState = mig::GpuReport::State;

constexpr std::chrono::milliseconds kApplyLimit{120'000};
constexpr std::chrono::milliseconds kLockWait{30'000};
constexpr std::chrono::milliseconds kKubeletTimeout{1000};
constexpr std::chrono::milliseconds kForEver = std::chrono::hours(1);

bool is_refused(const mig::ApplyReport& report) {
    return std::ranges::any_of(
        report.gpus, [](const mig::GpuReport& gpu) { return gpu.state == GpuState::kRefused; });
}

std::string why_refused(const mig::ApplyReport& report) {
    for (const mig::GpuReport& gpu : report.gpus) {
        if (gpu.state != GpuState::kRefused) continue;
        return "GPU " + std::to_string(gpu.index) + ": " +
               (gpu.refusal ? gpu.refusal->reason : gpu.message);
    }
    return report.problem;
}

}  // namespace

Result<std::vector<mig::GpuSpec>> mig_specs(const std::string& name,
                                            const std::optional<std::string>& text,
                                            const std::string& place,
                                            const gpu::Inventory& inventory,
                                            const std::vector<mig::Board>& boards,
                                            const GeometryOf& geometry) {
    std::vector<mig::GpuSpec> specs;
    std::string known = "there is no " + place;
    if (text) {
        const auto read = mig::read_config(*text);
        if (!read.problems.empty()) {
            return Error{ErrorCode::kInvalidInput, mig::to_text(place, read.problems.front())};
        }
        if (const auto* const config = read.config.find(name)) {
            const auto targets = mig::targets_of(*config, boards);
            if (!targets) return targets.error();
            for (const mig::Target& target : *targets) {
                const gpu::Gpu* const gpu = inventory.find(target.board.gpu);
                if (gpu == nullptr) continue;
                specs.push_back({.gpu = gpu->uuid,
                                 .index = gpu->index,
                                 .enabled = target.enabled,
                                 .spec = target.spec,
                                 .known_geometry = geometry(*gpu)});
            }
            return specs;
        }
        known = place + " has ";
        for (const auto& config : read.config.configs) known += config.name + ", ";
        known.resize(known.size() - 2);
    }
    bool capable = false;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (!gpu.mig_capable) continue;
        capable = true;
        auto shape = geometry(gpu);
        if (!shape) continue;
        auto meaning = mig::well_known(name, *shape);
        if (!meaning) {
            return Error{ErrorCode::kNotFound, "nobody knows it: " + known + "; GPU " +
                                                   std::to_string(gpu.index) + " knows " +
                                                   mig::well_known_names(*shape)};
        }
        specs.push_back({.gpu = gpu.uuid,
                         .index = gpu.index,
                         .enabled = meaning->enabled,
                         .spec = std::move(meaning->spec),
                         .known_geometry = std::move(shape)});
    }
    // MIG off is what a GPU without MIG has.
    if (!capable && name == "all-disabled") return specs;
    if (specs.empty()) {
        return Error{ErrorCode::kUnsupported,
                     capable ? "nobody knows it: " + known
                             : "no GPU of this node has MIG; time-slicing or MPS can share them"};
    }
    return specs;
}

std::vector<std::string> pods_in_the_way(const mig::ApplyReport& report,
                                         const gpu::Inventory& inventory,
                                         const std::vector<kubelet::Holder>& holders) {
    std::set<std::string> devices;
    for (const mig::GpuReport& one : report.gpus) {
        const gpu::Gpu* const gpu = inventory.find(one.gpu);
        if (one.state != GpuState::kRefused || gpu == nullptr) continue;
        const bool named = one.refusal && !one.refusal->blocking.empty();
        if (!named) devices.insert(gpu->uuid.text);
        for (const gpu::MigDevice& device : gpu->mig_devices) {
            const bool blocks =
                !named || std::ranges::any_of(one.refusal->blocking, [&](const auto& instance) {
                    return instance.start == device.placement.start;
                });
            if (blocks) devices.insert(device.uuid.text);
        }
    }
    std::set<std::string> pods;
    for (const kubelet::Holder& holder : holders) {
        const bool holds = std::ranges::any_of(holder.ids, [&](const std::string& id) {
            return devices.contains(std::string(gpu::device_of(id)));
        });
        if (holds) pods.insert(holder.pod_namespace + "/" + holder.pod);
    }
    return {pods.begin(), pods.end()};
}

Result<std::set<std::string>> held_devices(const os::Root& root, const dra::NotePlaces& claims,
                                           const std::vector<kubelet::Holder>& holders) {
    dra::HeldDevices held;
    held.take_notes(root, claims);
    for (const kubelet::Holder& holder : holders) held.take(holder);
    if (!held.problem().empty()) return Error{ErrorCode::kUnavailable, held.problem()};
    return held.uuids();
}

MigRequests::MigRequests(const os::Root& root, os::Clock& clock, Sources sources, Options options)
    : root_(root),
      clock_(clock),
      sources_(std::move(sources)),
      options_(std::move(options)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void MigRequests::run(const std::stop_token& stop) {
    MigChange change;
    MigEvent event{.kind = Kind::kAsked};
    asked_ = sources_.cluster.requests().mig_spec();
    event.config = asked_.config;
    while (!stop.stop_requested()) {  // "pending" stays then: the next agent goes on
        MigStep step = next_step(std::move(change), event, options_.rules, clock_.now());
        for (const MigAction& action : step.actions) act(action);
        change = std::move(step.change);
        event = await(change, stop);
    }
}

void MigRequests::act(const MigAction& action) {
    switch (action.kind) {
        case MigAction::Kind::kTell:
            sources_.cluster.tell_mig(action.status);
            break;
        case MigAction::Kind::kWithhold:
            withheld_ = devices_of(action.gpus);
            withheld_since_ = clock_.now();
            version_ = sources_.observer.withhold(
                action.gpus, "is being cut as MIG configuration '" + asked_.config + "' says");
            break;
        case MigAction::Kind::kRelease:
            // What was there before must not be offered again.
            (void)sources_.observer.look_now();
            version_ = sources_.observer.withhold({}, "");
            withheld_.clear();
            break;
        case MigAction::Kind::kEvict:
            evict(action.pods);
            break;
    }
}

MigEvent MigRequests::await(const MigChange& change, const std::stop_token& stop) {
    using State = MigChange::State;
    switch (change.state) {
        case State::kIdle:
        case State::kDraining:
            return wait_label(change, stop);
        case State::kPlanning:
        case State::kLooking:
            return {.kind = Kind::kPlanned, .config = {}, .plan = plan(change), .problem = {}};
        case State::kWithholding:
            return {.kind = wait_withheld(*change.until, stop) ? Kind::kWithheld : Kind::kDue};
        case State::kShowing:
            return {.kind = wait_served(*change.until, stop) ? Kind::kShown : Kind::kDue};
        case State::kCutting:
            break;
    }
    MigEvent event{.kind = Kind::kCut};
    const auto report = apply(Run::kReal);
    if (!report) event.problem = report.error().message;
    if (report && !report->reached) event.problem = report->problem;
    if (event.problem.empty()) log::info("mig.config", {{"config", asked_.config}});
    return event;
}

MigEvent MigRequests::wait_label(const MigChange& change, const std::stop_token& stop) {
    auto limit = kForEver;
    if (change.until) {
        limit = std::chrono::ceil<std::chrono::milliseconds>(*change.until - clock_.now());
    }
    auto asked =
        sources_.cluster.requests().wait_mig_spec(asked_.version, std::max(limit, 0ms), stop);
    const bool news = asked.version != asked_.version;
    asked_ = std::move(asked);
    return {.kind = news || !change.until ? Kind::kAsked : Kind::kDue,
            .config = asked_.config,
            .plan = {},
            .problem = {}};
}

bool MigRequests::wait_served(os::TimePoint until, const std::stop_token& stop) {
    for (std::uint64_t seen = 0;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock_.now());
        const auto served = sources_.served.wait_newer(seen, std::max(left, 0ms), stop);
        if (served.value && *served.value >= version_) return true;
        if (served.version == seen) return false;
        seen = served.version;
    }
}

/// kubelet can only be asked, and limits all its askers together: so ever more seldom.
bool MigRequests::wait_withheld(os::TimePoint until, const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kFirst{20};
    constexpr std::chrono::milliseconds kMost{500};
    if (!wait_served(until, stop)) return false;
    for (auto wait = kFirst; clock_.now() < until; wait = std::min(2 * wait, kMost)) {
        if (kubelet_keeps_them()) return true;
        if (!clock_.sleep_for(wait, stop)) return false;
    }
    return false;
}

/// Whether kubelet gives what is withheld to nobody, and lists all to whom it has given some of it.
bool MigRequests::kubelet_keeps_them() {
    const auto ids = sources_.pods.allocatable(kKubeletTimeout);
    if (!ids && ids.error().code == ErrorCode::kUnsupported) {
        return clock_.now() - withheld_since_ >= options_.settle;
    }
    const auto holders = sources_.pods.list(kKubeletTimeout);
    if (!ids || !holders) return false;
    const auto has = [](const std::vector<std::string>& some, const gpu::Uuid& device) {
        return std::ranges::any_of(
            some, [&](const std::string& id) { return gpu::device_of(id) == device.text; });
    };
    return std::ranges::none_of(withheld_, [&](const gpu::Uuid& device) {
        const bool listed = std::ranges::any_of(
            *holders, [&](const kubelet::Holder& holder) { return has(holder.ids, device); });
        return has(*ids, device) || (just_granted(device) && !listed);
    });
}

std::vector<gpu::Uuid> MigRequests::devices_of(const std::set<gpu::Uuid>& gpus) const {
    std::vector<gpu::Uuid> devices(gpus.begin(), gpus.end());
    for (const gpu::Gpu& gpu : inventory_.gpus) {
        if (!gpus.contains(gpu.uuid)) continue;
        for (const gpu::MigDevice& device : gpu.mig_devices) devices.push_back(device.uuid);
    }
    return devices;
}

Result<std::vector<mig::GpuSpec>> MigRequests::specs() {
    if (sources_.cut_by_claims()) {
        return Error{ErrorCode::kConflict,
                     "claims cut the GPUs of this node (--dra or the label aliquot.dev/dra is "
                     "dynamic-mig): take this label away, or choose another way to serve claims"};
    }
    auto inventory = sources_.driver.enumerate(gpu::Links::kLeaveOut);
    if (!inventory) return inventory.error();
    inventory_ = *std::move(inventory);
    const auto open = sources_.driver.open();
    if (!open) return open.error();
    return mig_specs(asked_.config, asked_.text, "MIG ConfigMap", inventory_,
                     mig::boards_of(root_, inventory_),
                     [&](const gpu::Gpu& gpu) -> std::optional<mig::Geometry> {
                         if (const auto now = (*open)->partitions(gpu.uuid)) {
                             if (auto shape = mig::geometry_of(*now)) return *std::move(shape);
                         }
                         return mig::known_geometry(gpu);
                     });
}

MigPlan MigRequests::plan(const MigChange& change) {
    MigPlan plan{.outcome = Outcome::kUnknown};
    if (change.state == MigChange::State::kPlanning) {
        auto desired = specs();
        if (!desired) {
            plan.why = desired.error().message;
            return plan;
        }
        specs_ = *std::move(desired);
    }
    const auto report = apply(Run::kDry);
    if (!report) {
        plan.why = report.error().message;
        return plan;
    }
    for (const mig::GpuReport& gpu : report->gpus) {
        if (gpu.state != GpuState::kUnchanged) plan.gpus.insert(gpu.gpu);
    }
    plan.outcome = plan.gpus.empty() ? Outcome::kReached : Outcome::kFree;
    if (is_refused(*report)) {
        plan.outcome = Outcome::kHeld;
        plan.why = why_refused(*report);
        plan.pods = pods_in_the_way(*report, inventory_, holders_);
    }
    return plan;
}

Result<mig::ApplyReport> MigRequests::apply(Run run) {
    auto holders = sources_.pods.list(kKubeletTimeout);
    if (!holders) {
        return Error{ErrorCode::kUnavailable,
                     "kubelet does not say which pods hold GPUs: " + holders.error().message};
    }
    auto held = held_devices(root_, options_.claims, *holders);
    if (!held) return held.error();
    mig::ApplyOptions options{
        .limit = kApplyLimit, .dry_run = run == Run::kDry, .held = *std::move(held)};
    holders_ = *by_devices(std::move(holders));
    for (const gpu::Uuid& device : withheld_) {
        if (just_granted(device)) options.held.insert(device.text);
    }
    const auto open = sources_.driver.open();
    if (!open) return open.error();
    const auto state =
        mig::StateDirectory::open(root_, options_.state_directory, kLockWait, clock_);
    if (!state) return state.error();
    return mig::apply(**open, *state, specs_, options, clock_);
}

void MigRequests::evict(const std::vector<std::string>& pods) {
    for (const std::string& pod : pods) {
        const std::size_t slash = pod.find('/');
        const auto done = sources_.evict(pod.substr(0, slash), pod.substr(slash + 1));
        if (!done) log::warning("mig.not_evicted", {{"pod", pod}, {"why", done.error().message}});
        if (done) log::info("mig.evicted", {{"pod", pod}});
    }
}

}  // namespace aliquot::agent
