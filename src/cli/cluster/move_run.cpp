// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/move_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "base/json_value.h"
#include "base/time_text.h"
#include "scheduling/moved_pods.h"
#include "scheduling/plan.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::ordered_json;
using scheduling::DefragPlan;
using scheduling::GpuPod;
using scheduling::PlannedMove;
using scheduling::WhollyFree;
using std::chrono::seconds;

constexpr std::chrono::milliseconds kBetweenPodLooks{500};
constexpr seconds kBetweenRenewals{20};
constexpr seconds kNoteHolds{60};  // beyond the patience for its pod

const kube_client::Resource kDisruptionBudgets{.group = "policy",
                                               .version = "v1",
                                               .plural = "poddisruptionbudgets",
                                               .kind = "PodDisruptionBudget"};

/// GPUs and nodes that are won.
std::pair<int, int> win_of(const WhollyFree& before, const WhollyFree& after) {
    return {static_cast<int>(after.gpus) - static_cast<int>(before.gpus),
            static_cast<int>(after.nodes) - static_cast<int>(before.nodes)};
}

std::string target_text(const scheduling::Target& target) {
    return target.node + " " + units_text(target.units);
}

/// What it was told to have: by its plan, which its node's agent follows.
scheduling::Target planned_place(const GpuPod& pod) {
    const auto plan = scheduling::parse_plan(pod.plan);
    for (const auto& target : plan ? plan->targets : std::vector<scheduling::Target>()) {
        if (target.node == pod.node) return target;
    }
    return {.node = pod.node, .units = {}};
}

}  // namespace

std::optional<MovePicture> read_moves(Context& context, kube_client::Api& api,
                                      const ClusterOptions& words, const MoveLimits& limits) {
    auto picture = read_placement(context, api, words, VolumesOf::kWaitingAndBound);
    if (!picture) return std::nullopt;
    const auto now = std::chrono::system_clock::now();
    MovePicture made{.placement = *std::move(picture),
                     .rules = {.bound_before = rfc3339(now - limits.least_run),
                               .most_priority = limits.most_priority,
                               .most_moves = limits.most_moves}};
    const auto budgets =
        api.list(kDisruptionBudgets, {.keep_managed_fields = false}, call_of(words));
    if (!budgets) {
        fail(context, budgets.failure());
        return std::nullopt;
    }
    for (const kube_client::Object& one : budgets->items) {
        if (auto budget = scheduling::read_disruption_budget(one.json))
            made.rules.budgets.push_back(*std::move(budget));
    }
    for (const GpuPod& pod : made.placement.pods) {
        if (!made.placement.knows_volumes && !pod.claims.empty())
            made.rules.spared[pod.uid] = "have volumes, which you may not read";
    }
    return made;
}

/// Whether the rest of the plan can be made, and wins what was told.
std::string MoveRun::still_holds(const DefragPlan& plan, std::size_t index) {
    auto picture = read_moves(context_, api_, words_, limits_);
    if (!picture) return "the cluster cannot be read";
    const std::vector<PlannedMove> rest(plan.moves.begin() + static_cast<std::ptrdiff_t>(index),
                                        plan.moves.end());
    const auto now = picture->placement.books.replay(picture->rules, rest);
    if (!now.wrong.empty()) return "the cluster has changed: " + now.wrong;
    const auto [gpus, nodes] = win_of(now.before, now.after);
    const auto [told_gpus, told_nodes] =
        win_of(index == 0 ? plan.before : plan.moves[index - 1].after, plan.after);
    if (gpus >= told_gpus && nodes >= told_nodes) return {};
    return "the cluster has changed: the moves that are left would win less than was told";
}

std::optional<std::vector<MoveRun::Owned>> MoveRun::pods_of_owner(const GpuPod& pod) {
    const auto list = api_.list(kube_client::resources::pods(),
                                {.namespace_name = pod.name_space, .keep_managed_fields = false},
                                call_of(words_));
    if (!list) {
        fail(context_, list.failure());
        return std::nullopt;
    }
    std::vector<Owned> owned;
    for (const kube_client::Object& one : list->items) {
        auto read = scheduling::read_gpu_pod(one.json);
        if (read && read->owner == pod.owner) {
            owned.push_back(
                {*std::move(read), kube_client::string_at(one.json, "/status/phase").value_or("")});
        }
    }
    return owned;
}

/// Writes the note on the pod, or takes it off. False: it was said why not.
bool MoveRun::note(const GpuPod& pod, const std::string& text) {
    Json value = text.empty() ? Json(nullptr) : Json(text);
    const Json patch{
        {"metadata",
         {{"uid", pod.uid}, {"annotations", {{scheduling::kMoveAnnotation, std::move(value)}}}}}};
    const auto done = api_.patch(kube_client::resources::pods(), {pod.name_space, pod.name},
                                 dumped(patch), {.write = {.call = call_of(words_)}});
    if (!done && !text.empty()) fail(context_, done.failure());
    return done.ok();
}

std::string MoveRun::evict(const PlannedMove& move) {
    const GpuPod& pod = move.pod;
    const auto until = std::chrono::system_clock::now() + limits_.patience + kNoteHolds;
    if (!note(pod, to_json(scheduling::MoveNote{.until = until, .to = move.to})))
        return "it cannot be told where to come back";
    const auto done =
        api_.evict({pod.name_space, pod.name}, {}, {.call = call_of(words_)}, pod.uid);
    if (done) return {};
    note(pod, "");
    if (done.failure().is(kube_client::Reason::kTooManyRequests)) {
        std::string why = "a PodDisruptionBudget does not let it go";
        for (const auto& cause : done.failure().causes) why += ": " + cause.message;
        return why;
    }
    fail(context_, done.failure());
    return "it cannot be evicted";
}

/// Until the pod has gone and another one of its owner runs.
std::string MoveRun::wait_for(const PlannedMove& move, const std::vector<Owned>& before) {
    const auto begin = Steady::now();
    auto renewed = begin;
    std::string last = "no other pod of its owner was made";
    while (Steady::now() - begin < limits_.patience) {
        std::this_thread::sleep_for(kBetweenPodLooks);
        if (Steady::now() - renewed > kBetweenRenewals) {
            const auto held = lease_.hold();
            if (held && !held->empty()) return *held;
            renewed = Steady::now();
        }
        const auto now = pods_of_owner(move.pod);
        if (!now) return "its owner's pods cannot be read";
        bool is_there = false;
        const Owned* next = nullptr;
        for (const Owned& one : *now) {
            is_there = is_there || one.pod.uid == move.pod.uid;
            const bool is_new = std::none_of(before.begin(), before.end(), [&](const Owned& old) {
                return old.pod.uid == one.pod.uid;
            });
            if (!is_new || one.pod.is_over || one.pod.devices != move.pod.devices) continue;
            // Its owner may make others at the same time.
            if (next == nullptr || planned_place(one.pod) == move.to) next = &one;
        }
        if (next == nullptr) continue;
        const GpuPod& pod = next->pod;
        last = pod.full_name() + (pod.is_gated               ? " is gated"
                                  : pod.node.empty()         ? " is not bound: " + pod.unschedulable
                                  : next->phase != "Running" ? " on " + pod.node + " does not run"
                                                             : " runs, but the pod is still there");
        if (is_there || next->phase != "Running") continue;
        const auto took = std::chrono::floor<seconds>(Steady::now() - begin);
        done_.push_back({move.pod.full_name(), pod.full_name(), planned_place(pod), took});
        if (done_.back().at == move.to) return {};
        return "its owner's pod " + pod.full_name() + " came to " + target_text(done_.back().at) +
               ", not to " + target_text(move.to) + " as planned";
    }
    return "after " + std::to_string(limits_.patience.count()) + " s " + last;
}

std::string MoveRun::move(const PlannedMove& move) {
    const auto before = pods_of_owner(move.pod);
    if (!before) return "its owner's pods cannot be read";
    if (std::string why = evict(move); !why.empty()) return move.pod.full_name() + ": " + why;
    if (std::string why = wait_for(move, *before); !why.empty())
        return move.pod.full_name() + ": " + why;
    return {};
}

std::string MoveRun::carry_out(const DefragPlan& plan) {
    for (std::size_t i = 0; i < plan.moves.size(); ++i) {
        const PlannedMove& next = plan.moves[i];
        if (std::string why = still_holds(plan, i); !why.empty()) return why;
        const auto spent = lease_.spend(limits_.per_hour);
        if (!spent) {
            fail(context_, spent.failure());
            return "moves cannot be counted";
        }
        if (!spent->empty()) return *spent;
        context_.err << "[" << i + 1 << "/" << plan.moves.size() << "] " << next.pod.full_name()
                     << ": " << target_text(next.from) << " -> " << target_text(next.to) << '\n'
                     << std::flush;
        if (std::string why = move(next); !why.empty()) return why;
    }
    return {};
}

}  // namespace aliquot::cli
