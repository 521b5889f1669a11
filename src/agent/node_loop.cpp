// SPDX-License-Identifier: Apache-2.0
#include "agent/node_loop.h"

#include <algorithm>

#include "agent/node_labels.h"
#include "base/log.h"
#include "labels/sysfs.h"

namespace aliquot::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNever = std::chrono::hours(1);
constexpr milliseconds kDaemonGlance{100};  // at what MPS daemons do: they tell nobody
constexpr milliseconds kHolderTimeout{1000};
constexpr milliseconds kGrantAge{10'000};  // until kubelet surely lists the pod

HolderQuestions questions(const NodeLoop::Parts& parts) {
    return {.list = [&pods = parts.pods] { return pods.list(kHolderTimeout); },
            .just_granted =
                [&serving = parts.serving](const gpu::Uuid& device) {
                    return serving.granted_within(device, kGrantAge);
                }};
}

}  // namespace

NodeLoop::NodeLoop(const Parts& parts)
    : parts_(parts),
      held_(parts.clock, questions(parts), {}),
      driver_root_(parts.configuration.settings().driver_root) {}

void NodeLoop::run() {
    while (!parts_.signals.stop().stop_requested()) {
        const bool news = wait_for_news();
        reload_configuration();
        tell_configuration();
        if (!seen_.value || (!news && !reloaded_ && !again_)) continue;
        mps_version_ = parts_.mps.version();
        // A driver that came late: what was seen before its GPUs were cut must not be offered. An
        // unfinished change is none to be brought to its end while we are at it ourselves.
        if (seen_.value->withheld.empty() && parts_.restore.attempt()) {
            (void)parts_.observer.look_now();
            continue;
        }
        const bool done = reconcile();
        if (done) parts_.served.publish(seen_.version);
        again_ = !done || held_.any();
        tell_configuration();
    }
}

bool NodeLoop::wait_for_news() {
    const std::uint64_t before = seen_.version;
    const milliseconds limit = std::min<milliseconds>(parts_.options.config_interval,
                                                      parts_.mps.idle() ? kNever : kDaemonGlance);
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

void NodeLoop::tell_configuration() {
    if (parts_.cluster != nullptr) parts_.cluster->tell_config(parts_.configuration.told());
}

Result<sharing::Offer> NodeLoop::decide_once(const gpu::Inventory& inventory) {
    const Settings& settings = parts_.configuration.settings();
    if (auto problem = parts_.mps.objection(settings)) return *std::move(problem);
    return sharing::make_offer(settings.config, inventory);
}

Result<sharing::Offer> NodeLoop::decide(const gpu::Inventory& inventory) {
    auto offer = decide_once(inventory);
    if (offer) return offer;
    if (parts_.configuration.reject(offer.error().message)) return decide_once(inventory);
    log::error("offer.impossible", {{"why", offer.error().message}});
    return offer;
}

bool NodeLoop::reconcile() {
    const gpu::Inventory inventory = offerable(*seen_.value);
    auto offer = decide(inventory);
    if (!offer) return false;
    // While the driver has told of no GPU yet, nothing is known of what an earlier agent has left.
    if (!inventory.gpus.empty() || seen_.value->driver_problem.empty()) parts_.mps.apply(*offer);
    parts_.board.set_mps(parts_.mps.statuses());
    held_.amend(*offer, inventory);
    parts_.board.set_remarks(offer->remarks);
    Settings settings = parts_.configuration.settings();
    parts_.mps.complete(settings.grant);
    parts_.guard.apply(settings.config.sharing.guard, *offer);
    parts_.telemetry.apply(*offer);
    // Failures are logged where they arise; the next round tries again.
    const bool done = parts_.serving.apply(settings, *offer, inventory).ok();
    parts_.features.apply(settings, *offer, inventory);
    parts_.configuration.accept();  // after the act: it writes to the disk, and kubelet waits
    tell_cluster(settings, *offer);
    return done;
}

void NodeLoop::tell_cluster(const Settings& settings, const sharing::Offer& offer) {
    if (parts_.cluster == nullptr) return;
    const Observation& seen = *seen_.value;
    parts_.cluster->tell({.labels = node_labels(parts_.root, settings, offer, seen.inventory,
                                                parts_.options.label_profiles),
                          .inventory = seen.inventory,
                          .driver_problem = seen.driver_problem,
                          .has_board = labels::has_nvidia_gpu(parts_.root),
                          .shares = node::share_statuses(offer)});
}

}  // namespace aliquot::agent
