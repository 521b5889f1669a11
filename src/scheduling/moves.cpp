// SPDX-License-Identifier: Apache-2.0
#include "scheduling/moves.h"

#include <algorithm>
#include <set>

#include "scheduling/fit.h"
#include "scheduling/neighbours.h"
#include "scheduling/plan.h"
#include "scheduling/release.h"

namespace aliquot::scheduling {
namespace {

constexpr char kHostnameLabel[] = "kubernetes.io/hostname";

unsigned budgets_of(const GpuPod& pod, const MoveRules& rules) {
    return static_cast<unsigned>(
        std::count_if(rules.budgets.begin(), rules.budgets.end(),
                      [&](const DisruptionBudget& one) { return one.covers(pod); }));
}

bool is_known(const Bookings& bookings, const GpuPod& pod) {
    const auto node = bookings.nodes().find(pod.node);
    return node != bookings.nodes().end() && node->second.granted.contains(pod.uid);
}

std::string next_uid(const GpuPod& pod) { return pod.uid + "/next"; }

/// The pod that goes is its neighbour like any other.
bool may_be_beside(const GpuPod& next, const ServedNode& node, const Bookings& bookings) {
    return !Neighbours::matter(next, bookings) || Neighbours(next, bookings).lets_in(node, {});
}

}  // namespace

std::string why_it_stays(const GpuPod& pod, const MoveRules& rules) {
    const auto spared = rules.spared.find(pod.uid);
    if (pod.is_leaving) return "leave anyway";
    if (pod.owner.empty()) return "have no controller that makes them again";
    if (pod.stays_put) return "are of DaemonSets or of their node";
    if (!pod.claim.key.empty()) return "are of gangs";
    if (pod.movable == GpuPod::Movable::kNo) return "say that they are not to be moved";
    if (pod.is_of_job && pod.movable != GpuPod::Movable::kYes)
        return "are of Jobs and do not say aliquot.dev/movable=true";
    if (pod.plan.empty()) return "were not placed by Aliquot, nor would those after them be";
    if (pod.priority > rules.most_priority)
        return "have a priority above " + std::to_string(rules.most_priority);
    if (pod.bound_at.empty() || pod.bound_at > rules.bound_before)
        return "have not run for long enough";
    if (spared != rules.spared.end()) return spared->second;
    if (budgets_of(pod, rules) > 1)
        return "are under several PodDisruptionBudgets, which Kubernetes never lets go";
    return {};
}

GpuPod next_of(const GpuPod& pod, const Bookings& bookings) {
    std::map<std::string, std::string> hostnames;
    const auto plan = parse_plan(pod.plan);
    for (const Target& target : plan ? plan->targets : std::vector<Target>()) {
        const auto node = bookings.nodes().find(target.node);
        if (node == bookings.nodes().end()) continue;
        const auto label = node->second.labels.find(kHostnameLabel);
        if (label != node->second.labels.end()) hostnames[target.node] = label->second;
    }
    GpuPod next = pod;
    next.uid = next_uid(pod);
    next.node.clear();
    next.where = own_rules(pod, hostnames);
    return next;
}

// ---- what is wholly free --------------------------------------------------------------------------

bool is_wholly_free(const Bookings& bookings, const std::string& node, const std::string& gpu) {
    bool is_there = false;
    for (const std::size_t index : bookings.pools().of_node(node)) {
        const Pool& pool = bookings.pools().all()[index];
        for (unsigned i = 0; i < pool.gpus.size(); ++i) {
            if (pool.gpus[i] != gpu) continue;
            is_there = true;
            if (bookings.pools().free_units(pool, i) < pool.units) return false;
        }
    }
    return is_there;
}

WhollyFree wholly_free(const Bookings& bookings) {
    WhollyFree free;
    for (const auto& [name, node] : bookings.nodes()) {
        const auto here = static_cast<unsigned>(std::count_if(
            node.gpus.begin(), node.gpus.end(),
            [&](const ServedGpu& gpu) { return is_wholly_free(bookings, name, gpu.uuid); }));
        free.gpus += here;
        free.nodes += here > 0 && here == node.gpus.size() ? 1 : 0;
    }
    return free;
}

// ---- one after the other --------------------------------------------------------------------------

/// Of this pod beside those that were moved: as if none of them had come back yet.
std::string Moves::budget_against(const GpuPod& pod) const {
    for (const DisruptionBudget& budget : rules_.budgets) {
        if (!budget.covers(pod)) continue;
        const auto gone = std::count_if(made_.begin(), made_.end(),
                                        [&](const auto& one) { return budget.covers(one.pod); });
        if (static_cast<std::size_t>(gone) >= budget.allowed)
            return "the PodDisruptionBudget " + budget.name + " lets no more pods go now";
    }
    return {};
}

std::string Moves::keeps_from(const GpuPod& next, const Target& to) const {
    const auto node = bookings_.nodes().find(to.node);
    if (node == bookings_.nodes().end()) return "no agent serves GPUs of " + to.node;
    if (std::string why = keeps_off(next, node->second); !why.empty()) return to.node + " " + why;
    Room room = Room::now(node->second, bookings_.pools());
    if (!room.take_these(next, to.units)) return to.node + " has no room for it";
    if (!may_be_beside(next, node->second, bookings_))
        return "other pods, or its topology spread, keep it off " + to.node;
    return {};
}

std::string Moves::make(const std::string& uid, const Target& to) {
    const auto holder = bookings_.holder_of(uid);
    if (holder.pod == nullptr) return "it has gone";
    const GpuPod pod = *holder.pod;
    const Target from{.node = pod.node, .units = *holder.units};
    if (made_.size() >= rules_.most_moves) return "there are too many moves";
    if (std::string why = why_it_stays(pod, rules_); !why.empty()) return "such pods " + why;
    if (!is_known(bookings_, pod) || from.units.empty()) return "nobody tells what it holds";
    if (std::string why = budget_against(pod); !why.empty()) return why;
    GpuPod there = next_of(pod, bookings_);
    if (std::string why = keeps_from(there, to); !why.empty()) return why;
    there.node = to.node;
    there.plan = to_json(Plan{.generation = 1, .asked = pod.devices, .targets = {to}});
    const std::uint64_t before = bookings_.overbooked();
    bookings_.remove_pod(uid);
    bookings_.set_pod(there);
    made_.push_back({.pod = pod, .from = from, .to = to, .opens = {}});
    if (bookings_.overbooked() != before) {
        take_back_to(made_.size() - 1);
        return to.node + " has no room for it";
    }
    PlannedMove& move = made_.back();
    std::set<std::string> left;  // a GPU may serve several resources
    for (const auto& [resource, gpus] : from.units) {
        for (const auto& gpu : gpus) left.insert(gpu.first);
    }
    for (const std::string& gpu : left) {
        if (is_wholly_free(bookings_, from.node, gpu)) move.opens.push_back(gpu);
    }
    const auto& gpus = bookings_.nodes().at(from.node).gpus;
    move.opens_node = std::all_of(gpus.begin(), gpus.end(), [&](const ServedGpu& gpu) {
        return is_wholly_free(bookings_, from.node, gpu.uuid);
    });
    move.after = wholly_free(bookings_);
    return {};
}

void Moves::take_back_to(std::size_t count) {
    while (made_.size() > count) {
        const GpuPod pod = std::move(made_.back().pod);
        made_.pop_back();
        bookings_.remove_pod(next_uid(pod));
        bookings_.set_pod(pod);
    }
}

Replay replay(Bookings& bookings, const MoveRules& rules, const std::vector<PlannedMove>& moves) {
    Replay result{.before = wholly_free(bookings), .after = {}, .wrong = {}};
    Moves made(bookings, rules);
    for (const PlannedMove& one : moves) {
        const auto holder = bookings.holder_of(one.pod.uid);
        const bool is_there = holder.pod != nullptr && holder.pod->node == one.from.node &&
                              *holder.units == one.from.units;
        std::string why =
            is_there ? made.make(one.pod.uid, one.to) : "it is no longer where it was";
        if (why.empty()) continue;
        result.wrong = one.pod.full_name() + ": " + why;
        break;
    }
    result.after = wholly_free(bookings);
    return result;
}

}  // namespace aliquot::scheduling
