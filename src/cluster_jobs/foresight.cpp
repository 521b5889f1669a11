// SPDX-License-Identifier: Apache-2.0
#include "cluster_jobs/foresight.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace aliquot::cluster_jobs {
namespace {

using queue::JobId;
using queue::Time;
using Why = queue::Explanation::Why;

constexpr Time kUntilStarted = 60'000;  // what was let go and does not run by then waits again
constexpr std::uint32_t kMostOfNode = 16;
constexpr std::size_t kMostExplained = 2'000;

std::string sentence_of(const queue::Explanation& told) {
    switch (told.why) {
        case Why::kRuns:
        case Why::kNext:
            return "it is next";
        case Why::kDevices:
            return "too few GPUs are free";
        case Why::kQuota:
            return "its queue has used up its quota";
        case Why::kReservation:
            return "it would delay a job ahead, which was promised the GPUs";
        case Why::kImpossible:
            break;
    }
    return "the cluster, or its queue's quota, does not have what it asks for";
}

}  // namespace

void Foresight::set_nodes(const std::map<std::string, std::uint32_t>& gpus) {
    if (gpus == nodes_) return;
    nodes_ = gpus;
    rebuild();
}

void Foresight::set_queues(const std::vector<QueueOffer>& queues) {
    if (queues == queues_) return;
    queues_ = queues;
    rebuild();
}

/// Another cluster: what was learnt of run times goes with the old books.
void Foresight::rebuild() {
    planner_ = queue::Planner();
    for (const auto& [name, gpus] : nodes_) {
        for (std::uint32_t from = 0; from < gpus; from += kMostOfNode) {
            placement::NodeSpec node;
            node.name = name + (from == 0 ? "" : "/" + std::to_string(from));
            node.devices = static_cast<std::uint8_t>(std::min(kMostOfNode, gpus - from));
            node.model = "gpu";
            (void)planner_.add_node(std::move(node));
        }
    }
    constexpr std::int64_t kMilli = 1000;
    for (const QueueOffer& one : queues_) {
        queue::Queue made{.name = one.name, .cohort = one.cohort};
        if (one.quota) made.quota_milli = static_cast<std::int64_t>(*one.quota) * kMilli;
        if (one.borrow) made.borrow_milli = static_cast<std::int64_t>(*one.borrow) * kMilli;
        (void)planner_.set_queue(made);
    }
    known_.clear();
}

queue::Job Foresight::job_of(const Task& task, JobId id) {
    queue::Job job;
    job.id = id;
    job.queue = task.queue;
    job.user = task.user;
    job.name = task.name;
    job.priority = task.priority;
    job.submitted = task.created;
    job.limit = task.limit;
    job.gang = std::clamp<std::uint32_t>(task.pods, 1, placement::kMostGang);
    job.request.gpus = static_cast<std::uint8_t>(std::min(task.gpus, kMostOfNode));
    job.request.milli = task.gpus == 0 ? 0 : placement::kWholeGpu;
    job.preemptible = false;
    return job;
}

void Foresight::take(const Task& task, Time now) {
    const auto [found, is_new] = known_.try_emplace(task.uid);
    Known& known = found->second;
    if (is_new) {
        known.id = ++latest_;
        known.waits_since = now;
    }
    const bool is_planned = !is_new && !known.has_no_room && known.id != 0;
    if (task.runs_since) {
        if (is_planned && known.runs) {
            known.let_go_at = 0;
            return;
        }
        if (known.has_no_room) return;
        if (is_planned) (void)planner_.ended(known.id, now, queue::Outcome::kCancelled);
        known.runs = true;
        known.let_go_at = 0;
        progress_at_ = now;
        known.has_no_room =
            !planner_.started_somewhere(job_of(task, known.id), *task.runs_since, now);
        return;
    }
    if (task.is_held) {
        if (is_planned) (void)planner_.ended(known.id, now, queue::Outcome::kCancelled);
        known_.erase(found);
        return;
    }
    const bool came_back =
        known.runs && (known.let_go_at == 0 || now - known.let_go_at > kUntilStarted);
    if (is_planned && known.runs && came_back) {
        (void)planner_.requeue(known.id, now);
        known.runs = false;
        known.let_go_at = 0;
        known.waits_since = now;
        return;
    }
    if (is_planned) return;
    known.runs = false;
    known.has_no_room = false;
    if (!planner_.submit(job_of(task, known.id), now)) known_.erase(task.uid);
}

Foreseen Foresight::foreseen(const Task& task, const Known& known, Time now) {
    Foreseen made{.uid = task.uid};
    if (known.runs) {
        made.is_let_go = task.is_gated;
        made.p50 = made.p90 = now;
        made.why = "it is next";
        return made;
    }
    const Time since = std::max(progress_at_, known.waits_since);
    if (task.is_gated && now - since > kLongestHold) {
        made.is_let_go = true;
        made.why = "it has waited long while nothing moved: the planner no longer holds it";
    }
    return made;
}

std::vector<Foreseen> Foresight::look(const std::vector<Task>& tasks,
                                      const std::map<std::string, queue::Outcome>& ended,
                                      Time now) {
    std::set<std::string> there;
    for (const Task& task : tasks) there.insert(task.uid);
    for (auto one = known_.begin(); one != known_.end();) {
        if (there.contains(one->first)) {
            ++one;
            continue;
        }
        const auto how = ended.find(one->first);
        if (!one->second.has_no_room) {
            (void)planner_.ended(one->second.id, now,
                                 how == ended.end() ? queue::Outcome::kCancelled : how->second);
        }
        if (one->second.runs) progress_at_ = now;
        one = known_.erase(one);
    }
    // Those that run first: they have their places, whatever the plan would say.
    for (const Task& task : tasks)
        if (task.runs_since) take(task, now);
    for (const Task& task : tasks)
        if (!task.runs_since) take(task, now);
    std::map<JobId, Known*> by_id;
    for (auto& [uid, known] : known_) by_id[known.id] = &known;
    for (const queue::Start& start : planner_.decide(now).starts) {
        const auto found = by_id.find(start.id);
        if (found == by_id.end()) continue;
        found->second->runs = true;
        found->second->let_go_at = now;
        progress_at_ = now;
    }
    std::map<JobId, queue::Eta> etas;
    for (const queue::Eta& eta : planner_.forecast(now)) etas[eta.id] = eta;
    std::vector<Foreseen> all;
    for (const Task& task : tasks) {
        const auto known = known_.find(task.uid);
        if (task.runs_since || known == known_.end()) continue;
        Foreseen made = foreseen(task, known->second, now);
        if (const auto eta = etas.find(known->second.id); eta != etas.end()) {
            made.position = eta->second.position;
            if (eta->second.p50 != queue::kNever) made.p50 = eta->second.p50;
            if (eta->second.p90 != queue::kNever) made.p90 = eta->second.p90;
            if (made.why.empty() && all.size() < kMostExplained) {
                if (const auto told = planner_.explain(known->second.id, now)) {
                    made.why = sentence_of(*told);
                    if (told->smaller && told->smaller->gpus > 0)
                        made.smaller = "--gpu " + std::to_string(told->smaller->gpus);
                }
            }
        }
        all.push_back(std::move(made));
    }
    return all;
}

}  // namespace aliquot::cluster_jobs
