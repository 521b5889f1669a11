// SPDX-License-Identifier: Apache-2.0
#include "controller/preemptor.h"

#include <algorithm>

#include "base/log.h"
#include "base/time_text.h"
#include "scheduling/disruption_budget.h"

namespace aliquot::controller {
namespace {

constexpr std::chrono::seconds kUntilGone{300};  // how long a victim may take to leave
constexpr std::chrono::seconds kUntilAsked{
    60};                                  // before one that may not be evicted is asked for again
constexpr std::size_t kMostSeekers = 16;  // at the same time
constexpr unsigned kMostRounds = 3;       // of evictions for one pod, within kRoundWindow
constexpr std::chrono::seconds kRoundWindow{600};
constexpr std::chrono::seconds kBudgetPatience{5};
constexpr std::chrono::milliseconds kMostSearch{500};  // of one look at all that wait
constexpr std::chrono::seconds kBetweenSearches{10};   // for one pod, when nobody was found

const kube_client::Resource kBudgets{.group = "policy",
                                     .version = "v1",
                                     .plural = "poddisruptionbudgets",
                                     .kind = "PodDisruptionBudget"};

/// Namespaces that several of the pods are of.
std::set<std::string> shared_namespaces(const std::vector<scheduling::GpuPod>& pods) {
    std::set<std::string> seen;
    std::set<std::string> shared;
    for (const scheduling::GpuPod& one : pods) {
        if (!seen.insert(one.name_space).second) shared.insert(one.name_space);
    }
    return shared;
}

std::set<std::string> uids_of(std::map<std::string, std::chrono::steady_clock::time_point>& pods,
                              std::chrono::steady_clock::time_point now) {
    std::erase_if(pods, [&](const auto& one) { return one.second < now; });
    std::set<std::string> uids;
    for (const auto& [uid, until] : pods) uids.insert(uid);
    return uids;
}

}  // namespace

scheduling::PreemptionRules Preemptor::rules_for(const scheduling::GpuPod& pod) {
    const auto now = world_.monotonic();
    const auto seeker = seekers_.find(pod.uid);
    const bool took_too_long =
        seeker != seekers_.end() && seeker->second.kept_until && *seeker->second.kept_until < now;
    return {.bound_before = rfc3339(world_.now() - options_.preemption_least_run),
            .spared = uids_of(spared_, now),
            .leaving = uids_of(evicted_, now),
            .await_leaving = !took_too_long};
}

std::set<std::string> Preemptor::holders(const std::function<bool(const std::string& uid)>& waits) {
    std::erase_if(seekers_, [&](const auto& one) { return !waits(one.first); });
    std::set<std::string> uids;
    const auto now = world_.monotonic();
    for (const auto& [uid, seeker] : seekers_) {
        if (seeker.keeps_node(now)) uids.insert(uid);
    }
    return uids;
}

bool Preemptor::are_too_many() const {
    const auto now = world_.monotonic();
    const auto keeping = std::count_if(seekers_.begin(), seekers_.end(),
                                       [&](const auto& one) { return one.second.keeps_node(now); });
    return static_cast<std::size_t>(keeping) >= kMostSeekers;
}

void Preemptor::spare(const scheduling::GpuPod& victim, const scheduling::GpuPod& pod,
                      Outcome& outcome, const std::string& why) {
    spared_[victim.uid] = world_.monotonic() + kUntilAsked;
    ++outcome.refused;
    log::info("placement.not_evicted",
              {{"pod", victim.full_name()}, {"for", pod.full_name()}, {"reason", why}});
}

bool Preemptor::may_all_go(const std::vector<scheduling::GpuPod>& victims,
                           const scheduling::GpuPod& pod, Outcome& outcome,
                           const std::stop_token& stop) {
    std::vector<scheduling::DisruptionBudget> budgets;
    for (const std::string& name_space : shared_namespaces(victims)) {
        const auto listed = world_.api.list(kBudgets, {.namespace_name = name_space},
                                            {.deadline = kBudgetPatience, .stop = stop});
        if (!listed) {
            spare(victims.back(), pod, outcome,
                  "its PodDisruptionBudgets cannot be read: " + listed.failure().message);
            return false;
        }
        for (const kube_client::Object& one : listed->items) {
            if (auto budget = scheduling::read_disruption_budget(one.json))
                budgets.push_back(*std::move(budget));
        }
    }
    const scheduling::GpuPod* const beyond = scheduling::first_beyond(budgets, victims);
    if (beyond == nullptr) return true;
    spare(*beyond, pod, outcome, "a PodDisruptionBudget does not let it go with the others");
    return false;
}

/// False: it may not go now, or nobody could be asked.
bool Preemptor::evict(const scheduling::GpuPod& victim, const scheduling::GpuPod& pod,
                      Outcome& outcome, bool dry_run, const std::stop_token& stop) {
    const auto call = world_.elector.call(stop);
    if (!call) return false;
    const auto done = world_.api.evict({victim.name_space, victim.name}, {},
                                       {.dry_run = dry_run, .call = *call}, victim.uid);
    const bool is_gone = !done && (done.failure().is(kube_client::Reason::kNotFound) ||
                                   done.failure().is(kube_client::Reason::kConflict));
    if (!done && !is_gone) {
        spare(victim, pod, outcome, done.failure().message);
        return false;
    }
    if (dry_run) return true;
    evicted_[victim.uid] = world_.monotonic() + 2 * kUntilGone;
    if (is_gone) return true;
    ++outcome.evicted;
    log::info("placement.evicted", {{"pod", victim.full_name()},
                                    {"node", victim.node},
                                    {"for", pod.full_name()},
                                    {"priority", victim.priority}});
    events_.record({.regarding = {.api_version = "v1",
                                  .kind = "Pod",
                                  .namespace_name = victim.name_space,
                                  .name = victim.name,
                                  .uid = victim.uid},
                    .warning = false,
                    .reason = "PreemptedForGpu",
                    .action = "Evict",
                    .note = "makes room on " + victim.node + " for pod " + pod.full_name() +
                            " of priority " + std::to_string(pod.priority)});
    return true;
}

/// All of them may go, or none is asked to.
bool Preemptor::evict_all(const scheduling::Preemption& found, const scheduling::GpuPod& pod,
                          Outcome& outcome, const std::stop_token& stop) {
    if (!may_all_go(found.victims, pod, outcome, stop)) return false;
    for (const bool dry_run : {true, false}) {
        for (const scheduling::GpuPod& victim : found.victims) {
            if (!evict(victim, pod, outcome, dry_run, stop)) return false;
        }
    }
    return true;
}

std::optional<scheduling::Preemption> Preemptor::search(const scheduling::GpuPod& pod,
                                                        SharedBooks& books) {
    std::erase_if(searched_,
                  [now = world_.monotonic()](const auto& one) { return one.second < now; });
    if (spent_ > kMostSearch || searched_.contains(pod.uid)) return std::nullopt;
    const auto begin = Steady::now();
    auto found = books->preemption_for(pod, rules_for(pod));
    spent_ += Steady::now() - begin;
    if (!found) searched_[pod.uid] = world_.monotonic() + kBetweenSearches;
    return found;
}

Preemptor::Outcome Preemptor::make_room(const scheduling::GpuPod& pod, SharedBooks& books,
                                        const std::stop_token& stop) {
    Outcome outcome;
    if (!seekers_.contains(pod.uid) && are_too_many()) return outcome;
    const auto found = search(pod, books);
    if (!found) return outcome;
    const auto now = world_.monotonic();
    Seeker& seeker = seekers_[pod.uid];
    if (found->victims.empty()) {
        if (!seeker.kept_until) seeker.kept_until = now + kUntilGone;
        outcome.words = "pods leave " + found->node + ", then it has room";
    } else {
        if (now - seeker.since >= kRoundWindow) seeker = {.kept_until = {}, .since = now};
        if (seeker.rounds >= kMostRounds) {
            outcome.words = "pods were evicted for it " + std::to_string(kMostRounds) +
                            " times within 10 minutes and others took the room";
            return outcome;
        }
        const bool all = evict_all(*found, pod, outcome, stop);
        if (outcome.evicted > 0) ++seeker.rounds;
        if (!all) return outcome;
        seeker.kept_until = now + kUntilGone;
        const std::size_t count = found->victims.size();
        outcome.words = std::to_string(count) + " of lower priority " +
                        (count == 1 ? "leaves " : "leave ") + found->node + " for it";
    }
    books->keep_node(pod, found->node);
    outcome.keeps_node = true;
    return outcome;
}

}  // namespace aliquot::controller
