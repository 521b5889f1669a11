// SPDX-License-Identifier: Apache-2.0
#include "controller/released_pods.h"

#include "base/log.h"
#include "base/time_text.h"

namespace aliquot::controller {
namespace {

constexpr unsigned kMostRemakes = 3;  // of one controller's pods, within kRemakeWindow
constexpr std::chrono::seconds kRemakeWindow{600};
constexpr std::size_t kMostOwners = 4096;

}  // namespace

void ReleasedPods::erase(const std::string& uid) {
    pods_.erase(uid);
    stuck_.erase(uid);
}

/// nullptr: no more of them now.
ReleasedPods::Remakes* ReleasedPods::remakes_of(const std::string& whose) {
    const auto now = world_.monotonic();
    if (remakes_.size() >= kMostOwners) {
        std::erase_if(remakes_,
                      [&](const auto& one) { return now - one.second.since > kRemakeWindow; });
    }
    if (remakes_.size() >= kMostOwners) return nullptr;
    Remakes& remakes = remakes_[whose];
    if (now - remakes.since > kRemakeWindow) remakes = {.count = 0, .since = now};
    return remakes.count >= kMostRemakes ? nullptr : &remakes;
}

ReleasedPods::Outcome ReleasedPods::remove(const scheduling::GpuPod& pod, const std::string& why,
                                           const std::stop_token& stop) {
    const auto call = world_.elector.call(stop);
    if (!call) return Outcome::kLater;
    const auto removed =
        world_.api.remove(kube_client::resources::pods(), {pod.name_space, pod.name},
                          {.uid = pod.uid, .call = *call});
    if (!removed && !removed.failure().is(kube_client::Reason::kNotFound)) {
        log::warning("placement.not_remade",
                     {{"pod", pod.full_name()}, {"reason", removed.failure().message}});
        return Outcome::kLater;
    }
    log::info("placement.remade", {{"pod", pod.full_name()}, {"why", why}});
    return Outcome::kRemade;
}

ReleasedPods::Outcome ReleasedPods::remake(const scheduling::GpuPod& pod,
                                           const std::stop_token& stop) {
    Remakes* const remakes = pod.owner.empty() ? nullptr : remakes_of(pod.owner);
    if (remakes == nullptr) return Outcome::kNotAnyMore;
    const Outcome outcome = remove(pod, pod.unschedulable, stop);
    if (outcome == Outcome::kRemade) ++remakes->count;
    return outcome;
}

ReleasedPods::Tended ReleasedPods::undo(const scheduling::GangTurn& turn,
                                        const std::stop_token& stop) {
    Tended tended;
    Remakes* const remakes = remakes_of(turn.id);
    const std::string why = turn.name + " is placed in part";
    for (const scheduling::GpuPod* const pod : turn.undo) {
        if (!pod->owner.empty() && remakes != nullptr) {
            tended.remade += remove(*pod, why, stop) == Outcome::kRemade ? 1 : 0;
        } else if (stuck_.insert(pod->uid).second) {
            complain(*pod, "GangPlacedInPart",
                     why +
                         " and the others find no room; create this pod again, so that it waits "
                         "with them: kubectl delete pod -n " +
                         pod->name_space + " " + pod->name);
            tended.stuck.push_back(pod->uid);
        }
    }
    if (tended.remade > 0) ++remakes->count;
    return tended;
}

void ReleasedPods::complain(const scheduling::GpuPod& pod, const char* reason,
                            const std::string& note) {
    world_.events.record({.regarding = {.api_version = "v1",
                                        .kind = "Pod",
                                        .namespace_name = pod.name_space,
                                        .name = pod.name,
                                        .uid = pod.uid},
                          .warning = true,
                          .reason = reason,
                          .action = "Place",
                          .note = note});
}

ReleasedPods::Tended ReleasedPods::tend(const std::stop_token& stop) {
    Tended tended;
    for (const auto& [uid, pod] : pods_) {
        if (pod.unschedulable.empty() || pod.is_leaving) continue;
        const bool is_told = stuck_.contains(uid);
        if (is_told && pod.owner.empty()) continue;
        const auto since = parse_rfc3339(pod.unschedulable_since);
        if (!since || world_.now() - *since < patience_) continue;
        const Outcome outcome = remake(pod, stop);
        if (outcome == Outcome::kRemade) ++tended.remade;
        if (outcome != Outcome::kNotAnyMore || is_told) continue;
        stuck_.insert(uid);
        const std::string later =
            pod.owner.empty() ? ""
                              : "; else it is deleted in some minutes, since " +
                                    std::to_string(kMostRemakes) + " of its controller's were";
        complain(pod, "PlannedNodesTaken",
                 "none of the nodes planned for this pod has room any more, and Kubernetes does "
                 "not let them be changed now; create the pod again: kubectl delete pod -n " +
                     pod.name_space + " " + pod.name + later);
        tended.stuck.push_back(uid);
    }
    return tended;
}

}  // namespace aliquot::controller
