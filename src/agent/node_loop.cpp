// SPDX-License-Identifier: Apache-2.0
#include "agent/node_loop.h"

#include <algorithm>

#include "agent/free_space.h"
#include "agent/node_labels.h"
#include "agent/paths.h"
#include "agent/toolkit.h"
#include "base/log.h"
#include "labels/sysfs.h"

namespace aliquot::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNever = std::chrono::hours(1);
constexpr milliseconds kDaemonGlance{100};  // at what MPS daemons do: they tell nobody
constexpr milliseconds kReadingGlance{10};  // at a configuration that is being read

ConfigRollout::Sources sources(const NodeLoop::Parts& parts) {
    return {
        .grants = parts.grants,
        .pods = [&pods = parts.pods](auto timeout) { return pods.pods(timeout); },
        .allocatable = [&pods = parts.pods](auto timeout) { return pods.allocatable(timeout); }};
}

ConfigRollout::Options rollout_options(const Options& options) {
    ConfigRollout::Options rollout{.record = served_record_path(options.state_directory)};
    rollout.holds.checkpoint = options.kubelet.plugin_directory() + "/kubelet_internal_checkpoint";
    return rollout;
}

}  // namespace

NodeLoop::NodeLoop(const Parts& parts)
    : parts_(parts),
      rollout_(parts.root, parts.clock, sources(parts), rollout_options(parts.options)),
      driver_root_(parts.configuration.settings().driver_root) {}

void NodeLoop::run() {
    while (!parts_.signals.stop().stop_requested()) {
        const bool news = wait_for_news();
        reload_configuration();
        look_at_free_space();
        tell_configuration();
        const bool switched = parts_.claims.look();
        const bool changed = look_at_toolkit() || switched;
        if (!seen_.value || (!news && !reloaded_ && !changed && !again_)) continue;
        mps_version_ = parts_.mps.version();
        // A driver that came late: what was seen before its GPUs were cut must not be offered. An
        // unfinished change is none to be brought to its end while we are at it ourselves.
        if (seen_.value->withheld.empty() && parts_.restore.attempt()) {
            (void)parts_.observer.look_now();
            continue;
        }
        const bool done = reconcile();
        if (done) parts_.served.publish(seen_.version);
        const ClaimService* const claims = parts_.claims.service();
        const bool held_back = claims != nullptr && claims->holds_back();
        again_ = !done || held_back || rollout_.next_look();
        tell_configuration();
    }
}

bool NodeLoop::wait_for_news() {
    const std::uint64_t before = seen_.version;
    const milliseconds glance = parts_.configuration.is_reading() ? kReadingGlance
                                : parts_.mps.idle()               ? kNever
                                                                  : kDaemonGlance;
    const milliseconds limit = std::min<milliseconds>(
        {parts_.options.config_interval, glance, rollout_.next_look().value_or(kNever)});
    seen_ = parts_.observer.observations().wait_newer(before, before == 0 ? milliseconds(0) : limit,
                                                      parts_.signals.stop());
    parts_.board.beat();
    return seen_.version != before || parts_.mps.version() != mps_version_;
}

void NodeLoop::reload_configuration() {
    reloaded_ = parts_.configuration.reload(parts_.signals.take_reload());
    const std::string& wanted = parts_.configuration.settings().driver_root;
    if (!reloaded_ || wanted == driver_root_) return;
    driver_root_ = wanted;
    log::warning("config.needs_restart", {{"for", "nvidiaDriverRoot"}});
}

bool NodeLoop::look_at_toolkit() {
    const auto now =
        toolkit_condition(parts_.root, parts_.configuration.settings(), serves_claims());
    const bool same =
        now.has_value() == toolkit_.has_value() && (!now || now->reason == toolkit_->reason);
    toolkit_ = now;
    return !same;
}

void NodeLoop::look_at_free_space() {
    std::string shortage =
        shortage_in(parts_.root, {parts_.options.state_directory, std::string(kRegions)});
    // Bytes come and go; who reads it wants to know whether there is room.
    if (shortage.empty() == shortage_.empty()) return;
    shortage_ = std::move(shortage);
    if (shortage_.empty()) log::info("storage.has_room");
    if (!shortage_.empty()) log::error("storage.full", {{"why", shortage_}});
}

void NodeLoop::tell_configuration() {
    // While idle GPUs are just being changed neither the old nor the new one is served.
    if (rollout_.is_closing()) return;
    if (parts_.cluster == nullptr) return;
    node::ConfigStatus told = parts_.configuration.told();
    told.shortage = shortage_;
    told.claims_problem = parts_.claims.problem();
    if (parts_.claims.serves()) told.claims_refused = parts_.claims.service()->refusal();
    parts_.cluster->tell_config(told);
}

Result<sharing::Offer> NodeLoop::decide_once(const gpu::Inventory& inventory) {
    const Configuration& configuration = parts_.configuration;
    if (configuration.standing() == Configuration::Standing::kAsBefore) {
        return sharing::as_served(rollout_.served(), inventory);
    }
    if (auto problem = parts_.mps.objection(configuration.settings())) return *std::move(problem);
    return sharing::make_offer(configuration.settings().config, inventory);
}

Result<sharing::Offer> NodeLoop::decide(const gpu::Inventory& inventory) {
    auto offer = decide_once(inventory);
    if (offer) return offer;
    if (parts_.configuration.reject(offer.error().message)) return decide_once(inventory);
    log::error("offer.impossible", {{"why", offer.error().message}});
    return offer;
}

bool NodeLoop::reconcile() {
    if (!parts_.claims.is_known()) return false;
    gpu::Inventory inventory = offerable(*seen_.value);
    ClaimService* const claims = parts_.claims.service();
    if (serves_claims()) held_ = {};  // more may be held than when they were served last
    if (claims != nullptr && !serves_claims()) {
        const auto& held = held_.look(claims->held());
        if (!held) return false;
        inventory = without_claimed(std::move(inventory), *held);
    }
    const auto wanted = decide(inventory);
    if (!wanted) return false;
    // Where claims are served kubelet is offered nothing but what pods hold until they end.
    auto round = rollout_.begin(serves_claims() ? sharing::Offer{} : *wanted, inventory);
    if (!round) return false;
    sharing::Offer& offer = round->offer;
    // While the driver has told of no GPU yet, nothing is known of what an earlier agent has left.
    if (!inventory.gpus.empty() || seen_.value->driver_problem.empty()) parts_.mps.apply(offer);
    parts_.board.set_mps(parts_.mps.statuses());
    parts_.board.set_remarks(offer.remarks);
    Settings settings = parts_.configuration.settings();
    parts_.mps.complete(settings.grant);
    parts_.guard.apply(settings.config.sharing.guard, offer);
    parts_.telemetry.apply(offer);
    if (parts_.placement != nullptr) parts_.placement->apply(offer);
    // Failures are logged where they arise; the next round tries again.
    bool done = parts_.serving.apply(settings, offer, inventory).ok();
    done = reconcile_claims(settings, *wanted, *round, inventory) && done;
    rollout_.finish(offer);
    const sharing::Offer& labelled = serves_claims() ? *wanted : offer;
    parts_.features.apply(settings, labelled, inventory);
    parts_.configuration.accept();  // after the act: it writes to the disk, and kubelet waits
    tell_cluster(settings, *round, labelled);
    return done;
}

bool NodeLoop::reconcile_claims(const Settings& settings, const sharing::Offer& wanted,
                                const sharing::Rollout& round, const gpu::Inventory& inventory) {
    ClaimService* const claims = parts_.claims.service();
    if (claims == nullptr) return true;
    std::set<gpu::Uuid> elsewhere = devices_in(round.offer);
    elsewhere.insert(round.closing.begin(), round.closing.end());
    // A GPU that is being cut: whoever cuts it knows from now on of every claim that has it.
    elsewhere.insert(seen_.value->withheld.begin(), seen_.value->withheld.end());
    const bool done = claims->apply(settings, wanted, elsewhere, inventory);
    if (serves_claims()) return done;
    // What a claim holds is offered once it does not.
    const auto& still = held_.look(claims->held());
    return done && still && still->empty();
}

void NodeLoop::tell_cluster(const Settings& settings, const sharing::Rollout& round,
                            const sharing::Offer& labelled) {
    if (parts_.cluster == nullptr) return;
    // While idle GPUs are just being changed it is not yet so that nothing waits any more.
    if (!rollout_.is_closing()) told_waiting_ = round.waiting;
    const Observation& seen = *seen_.value;
    parts_.cluster->tell({.labels = node_labels(parts_.root, settings, labelled, seen.inventory,
                                                parts_.options.label_profiles),
                          .inventory = seen.inventory,
                          .driver_problem = seen.driver_problem,
                          .has_board = labels::has_nvidia_gpu(parts_.root),
                          .shares = node::share_statuses(round.offer),
                          .offers = node::gpu_offers(round.offer),
                          .waiting = told_waiting_,
                          .toolkit = toolkit_});
}

}  // namespace aliquot::agent
