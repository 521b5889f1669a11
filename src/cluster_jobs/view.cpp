// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/number.h"
#include "base/text.h"
#include "cluster_jobs/sight.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::cluster_jobs {
namespace {

using document::make_mapping;
using document::only_if;
using document::Value;
using jobs::State;

constexpr std::size_t kMostNamed = 10;

bool holds_devices(const JobSight& job) {
    return job.state == State::kRunning || job.state == State::kStarting ||
           job.state == State::kSuspending || job.state == State::kAdmitted;
}

document::Built text(const std::string& value) { return only_if(!value.empty(), value); }

std::vector<std::string> nodes_of(const JobSight& job) {
    std::vector<std::string> nodes;
    for (const PodSight& pod : job.running) {
        const bool has_ended = pod.phase == "Succeeded" || pod.phase == "Failed";
        if (pod.node.empty() || has_ended) continue;
        if (std::find(nodes.begin(), nodes.end(), pod.node) == nodes.end())
            nodes.push_back(pod.node);
    }
    return nodes;
}

Value step(const std::string& at, const std::string& what, const std::string& why) {
    return make_mapping({{"at", at}, {"to", what}, {"reason", why}});
}

/// What Job, Workload and pods remember of the way, by time.
Value steps_of(const JobSight& job) {
    std::vector<Value> steps{step(job.created, "Queued", "submitted")};
    if (job.workload) {
        for (const Condition& one : job.workload->conditions) {
            if (one.since.empty()) continue;
            steps.push_back(step(one.since, (one.is_true ? "" : "not ") + one.type, one.message));
        }
    }
    if (!job.started.empty()) steps.push_back(step(job.started, "Starting", ""));
    if (!job.ended.empty())
        steps.push_back(step(job.ended, std::string(jobs::word(job.state)), job.reason));
    std::stable_sort(steps.begin(), steps.end(), [](const Value& a, const Value& b) {
        return document::text_at(a, {"at"}) < document::text_at(b, {"at"});
    });
    return document::make_sequence(steps, [](const Value& one) { return one; });
}

Value eta_of(const JobSight& job) {
    if (job.cluster_eta.empty()) return {};
    auto eta = document::parse_json(job.cluster_eta);
    return eta ? *std::move(eta) : Value{};
}

std::string why_of(const JobSight& job, const Value& eta) {
    if (!job.reason.empty()) return job.reason;
    const std::string planned = document::text_at(eta, {"why"});
    if (!planned.empty()) return planned;
    return job.state == State::kRunning ? "it runs" : std::string(jobs::word(job.state));
}

}  // namespace

Value to_document(const JobSight& job) {
    const auto compute = parse_number<unsigned>(job.gpu_compute);
    return make_mapping(
        {{"id", job.name},
         {"namespace", job.space},
         {"name", job.name},
         {"user", job.user},
         {"queue", text(job.queue)},
         {"priority", only_if(job.workload.has_value(), job.workload ? job.workload->priority : 0)},
         {"state", jobs::word(job.state)},
         {"reason", text(job.reason)},
         {"cause", only_if(job.cause != jobs::Cause::kNone, jobs::word(job.cause))},
         {"exitCode", only_if(job.exit_code.has_value(), job.exit_code.value_or(0))},
         {"gpus", job.gpus},
         {"gpuResource", text(job.gpu_resource)},
         {"gpuMemory", text(job.gpu_memory)},
         {"gpuCompute", only_if(compute.has_value(), compute.value_or(0))},
         {"pods", only_if(job.pods > 1, job.pods)},
         {"ready", only_if(job.pods > 1, job.ready)},
         {"devices", nodes_of(job)},
         {"attempt", job.attempt},
         {"submitted", text(job.created)},
         {"started", text(job.started)},
         {"ended", text(job.ended)},
         {"request", only_if(job.request.is_mapping(), job.request)}});
}

Value to_long_document(const JobSight& job) {
    Value made = to_document(job);
    if (job.workload) {
        document::append(made, "workload", job.workload->name);
        if (!job.workload->cluster_queue.empty())
            document::append(made, "clusterQueue", job.workload->cluster_queue);
    }
    Value pods = document::make_sequence(job.running, [](const PodSight& pod) {
        return make_mapping({{"name", pod.name},
                             {"node", text(pod.node)},
                             {"phase", text(pod.phase)},
                             {"waits", text(pod.waiting)}});
    });
    if (!pods.items.empty()) document::append(made, "podList", std::move(pods));
    document::append(made, "steps", steps_of(job));
    return made;
}

Value to_explanation(const JobSight& job, const std::vector<JobSight>& others) {
    const Value eta = eta_of(job);
    const std::string p50 = document::text_at(eta, {"p50"});
    const std::string p90 = document::text_at(eta, {"p90"});
    const auto position = parse_number<std::uint32_t>(document::text_at(eta, {"position"}));
    std::vector<std::string> ahead;
    Value holders = document::make_sequence();
    for (const JobSight& other : others) {
        if (other.uid == job.uid) continue;
        const bool same_queue = other.queue == job.queue;
        if (holds_devices(other) && other.gpus > 0 && holders.items.size() < kMostNamed) {
            holders.items.push_back(make_mapping({{"id", other.name},
                                                  {"namespace", other.space},
                                                  {"user", other.user},
                                                  {"devices", nodes_of(other)}}));
        }
        const bool waits = jobs::is_waiting(other.state) || other.state == State::kReserving;
        if (waits && same_queue && other.created < job.created && ahead.size() < kMostNamed)
            ahead.push_back(other.name);
    }
    const bool waits = !jobs::is_final(job.state) && job.state != State::kRunning;
    const std::string smaller = document::text_at(eta, {"smaller"});
    return make_mapping({{"id", job.name},
                         {"state", jobs::word(job.state)},
                         {"why", why_of(job, eta)},
                         {"position", only_if(waits && position, position.value_or(0))},
                         {"likelyStart", only_if(waits && !p50.empty(), p50)},
                         {"latestStart", only_if(waits && !p90.empty(), p90)},
                         {"smaller", only_if(waits && !smaller.empty(), smaller)},
                         {"ahead", waits ? ahead : std::vector<std::string>{}},
                         {"holders", waits ? std::move(holders) : document::make_sequence()}});
}

}  // namespace aliquot::cluster_jobs
