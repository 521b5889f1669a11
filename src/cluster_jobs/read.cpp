// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "cluster_jobs/sight.h"
#include "cluster_jobs/workload.h"
#include "document/json.h"
#include "document/path.h"
#include "k8s/pod.h"
#include "k8s/resource_name.h"

namespace aliquot::cluster_jobs {
namespace {

using document::items_at;
using document::text_at;
using document::Value;
using jobs::Cause;
using jobs::State;

constexpr int kOutOfMemoryCode = 137;

std::vector<Condition> read_conditions(const Value& object) {
    std::vector<Condition> list;
    for (const Value& one : items_at(object, {"status", "conditions"})) {
        list.push_back({.type = text_at(one, {"type"}),
                        .is_true = text_at(one, {"status"}) == "True",
                        .reason = text_at(one, {"reason"}),
                        .message = one_line(text_at(one, {"message"}), 400),
                        .since = text_at(one, {"lastTransitionTime"})});
    }
    return list;
}

const Condition* find_true(const std::vector<Condition>& list, std::string_view type) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const Condition& one) {
        return one.type == type && one.is_true;
    });
    return found == list.end() ? nullptr : &*found;
}

std::string annotation(const Value& object, std::string_view name) {
    return text_at(object, {"metadata", "annotations", name});
}

std::uint64_t number_at(const Value& object, std::initializer_list<std::string_view> path,
                        std::uint64_t otherwise) {
    return parse_number<std::uint64_t>(text_at(object, path)).value_or(otherwise);
}

/// The GPUs of its first container that asks for some.
void read_gpus(const Value& job, JobSight& made) {
    const std::string space = "aliquot.dev/gpu-";
    const Value* const pod_annotations =
        document::at_path(job, {"spec", "template", "metadata", "annotations"});
    made.gpu_memory = text_at(pod_annotations, {space + "memory"});
    made.gpu_compute = text_at(pod_annotations, {space + "compute"});
    for (const Value& container : items_at(job, {"spec", "template", "spec", "containers"})) {
        for (const auto& [name, amount] :
             document::entries_at(container, {"resources", "limits"})) {
            if (!k8s::is_gpu_resource(name.scalar)) continue;
            made.gpus = parse_number<std::uint64_t>(amount.scalar).value_or(0);
            made.gpu_resource = name.scalar;
            return;
        }
    }
    if (!made.gpu_memory.empty() || !made.gpu_compute.empty()) made.gpus = 1;
}

/// What its pods say of how far it is.
void read_progress(JobSight& made) {
    const auto any = [&](const auto& holds) {
        return std::any_of(made.running.begin(), made.running.end(), holds);
    };
    if (any([](const PodSight& pod) { return pod.phase == "Running"; })) {
        made.state = State::kRunning;
        return;
    }
    for (const PodSight& pod : made.running) {
        if (pod.phase != "Pending") continue;
        if (made.reason.empty()) made.reason = pod.waiting;
    }
    if (any([](const PodSight& pod) { return pod.phase == "Pending" && !pod.node.empty(); })) {
        made.state = State::kStarting;
    } else if (any([](const PodSight& pod) { return pod.is_gated; })) {
        made.state = State::kQueued;
        if (made.reason.empty()) made.reason = "waits for room on a GPU";
    } else if (any([](const PodSight& pod) { return pod.is_unschedulable; })) {
        made.state = State::kProvisioning;
    } else {
        made.state = made.workload ? State::kAdmitted : State::kStarting;
    }
}

/// Held out of Kueue's queue by a gate of ours: why, not by what annotation.
std::string why_gated(const Value& job, const JobSight& made) {
    const std::string gates = annotation(job, kGatedBy);
    const std::string after = annotation(job, kAfterAnnotation);
    if (!after.empty() && without_gate(gates, kAfterGate)) return "waits for " + after;
    if (!without_gate(gates, kPlannerGate)) return {};
    const auto eta = document::parse_json(made.cluster_eta);
    const std::string planned = eta ? text_at(*eta, {"why"}) : "";
    return planned.empty() ? "waits until it delays none of the jobs ahead" : planned;
}

void read_waiting(const Value& job, JobSight& made) {
    const WorkloadSight& workload = *made.workload;
    made.state = State::kQueued;
    const Condition* const reserved = workload.find("QuotaReserved");
    if (reserved != nullptr && reserved->is_true) {
        made.state = workload.is("Admitted") ? State::kAdmitted : State::kReserving;
        for (const CheckState& check : workload.checks) {
            if (check.state != "Ready" && !check.message.empty())
                made.reason = check.name + ": " + check.message;
        }
        if (made.reason.empty() && made.state == State::kReserving)
            made.reason = "quota is reserved, admission checks are not done yet";
        return;
    }
    if (workload.is("Evicted") || workload.is("Requeued")) made.state = State::kRequeued;
    if (reserved != nullptr && reserved->reason == "AdmissionGated")
        made.reason = why_gated(job, made);
    if (reserved != nullptr && made.reason.empty()) made.reason = reserved->message;
    if (const Condition* const evicted = workload.find("Evicted");
        evicted != nullptr && evicted->is_true && made.reason.empty()) {
        made.reason = evicted->message;
    }
    if (made.reason.empty()) made.reason = "waits in queue " + made.queue;
}

Cause cause_of(const JobSight& job, const Condition& failed) {
    if (failed.reason == "DeadlineExceeded") return Cause::kDeadline;
    for (const PodSight& pod : job.running) {
        if (pod.ended_by == "OOMKilled") return Cause::kOutOfMemory;
        if (pod.ended_by == "NodeLost" || pod.ended_by == "NodeShutdown" ||
            pod.ended_by == "Terminated")
            return Cause::kNodeLost;
        if (pod.ended_by == "Preempted" || pod.ended_by == "Preempting") return Cause::kPreempted;
        if (pod.ended_by == "ContainerCannotRun" || pod.ended_by == "StartError")
            return Cause::kNotStarted;
    }
    return Cause::kProgram;
}

void read_end(const Value& job, const std::vector<Condition>& conditions, JobSight& made) {
    if (const Condition* const done = find_true(conditions, "Complete")) {
        made.state = State::kSucceeded;
        made.exit_code = 0;
        made.ended = text_at(job, {"status", "completionTime"});
        if (made.ended.empty()) made.ended = done->since;
        return;
    }
    const Condition* const failed = find_true(conditions, "Failed");
    made.ended = failed->since;
    made.cause = cause_of(made, *failed);
    made.state = made.cause == Cause::kDeadline ? State::kExpired : State::kFailed;
    made.reason = failed->message.empty() ? failed->reason : failed->message;
    for (const PodSight& pod : made.running) {
        if (pod.exit_code && *pod.exit_code != 0) made.exit_code = pod.exit_code;
    }
    if (made.cause == Cause::kOutOfMemory && !made.exit_code) made.exit_code = kOutOfMemoryCode;
}

void read_stopped(const Value& job, std::uint64_t active, JobSight& made) {
    const std::string cancelled = annotation(job, kCancelledAnnotation);
    const bool goes_on = active > 0;
    if (!cancelled.empty()) {
        made.state = goes_on ? State::kSuspending : State::kCancelled;
        const std::string idle = annotation(job, kIdleEndAnnotation);
        made.cause = idle.empty() ? Cause::kCancelled : Cause::kIdle;
        made.reason = !idle.empty() ? idle : goes_on ? "is being ended" : "was cancelled";
        made.ended = goes_on ? "" : cancelled;
        return;
    }
    made.state = goes_on ? State::kSuspending : State::kSuspended;
    made.reason = goes_on ? "is being stopped" : "is suspended: aliquot job resume " + made.name;
}

void read_state(const Value& job, JobSight& made) {
    const auto conditions = read_conditions(job);
    if (find_true(conditions, "Complete") != nullptr ||
        find_true(conditions, "Failed") != nullptr) {
        return read_end(job, conditions, made);
    }
    const std::uint64_t active = number_at(job, {"status", "active"}, 0);
    const bool stopped = !annotation(job, kCancelledAnnotation).empty() ||
                         !annotation(job, kSuspendedAnnotation).empty() ||
                         (made.workload && !made.workload->active);
    if (stopped) return read_stopped(job, active, made);
    if (!made.is_suspended) {
        read_progress(made);
        const auto idle = document::parse_json(annotation(job, kIdleAnnotation));
        if (idle && made.reason.empty())
            made.reason = "its GPUs are idle since " + text_at(*idle, {"since"});
        return;
    }
    if (active > 0) {
        made.state = State::kSuspending;
        made.reason = "is being stopped";
        return;
    }
    if (made.workload) return read_waiting(job, made);
    made.state = made.queue.empty() && annotation(job, kAfterAnnotation).empty() ? State::kSuspended
                                                                                 : State::kQueued;
    const std::string after = annotation(job, kAfterAnnotation);
    made.reason = !after.empty()       ? "waits for " + after
                  : made.queue.empty() ? "is suspended: aliquot job resume " + made.name
                                       : "waits for Kueue to take it into queue " + made.queue;
}

}  // namespace

const Condition* WorkloadSight::find(std::string_view type) const {
    const auto found = std::find_if(conditions.begin(), conditions.end(),
                                    [&](const Condition& one) { return one.type == type; });
    return found == conditions.end() ? nullptr : &*found;
}

bool WorkloadSight::is(std::string_view type) const {
    const Condition* const found = find(type);
    return found != nullptr && found->is_true;
}

bool is_gpu_job(const Value& job) {
    if (!annotation(job, kRequestAnnotation).empty()) return true;
    JobSight made;
    read_gpus(job, made);
    return made.gpus > 0;
}

WorkloadSight read_workload(const Value& workload) {
    WorkloadSight made;
    made.name = text_at(workload, {"metadata", "name"});
    made.uid = text_at(workload, {"metadata", "uid"});
    made.eta = annotation(workload, kEtaAnnotation);
    made.active = text_at(workload, {"spec", "active"}) != "false";
    made.priority = parse_number<std::int32_t>(text_at(workload, {"spec", "priority"})).value_or(0);
    made.cluster_queue = text_at(workload, {"status", "admission", "clusterQueue"});
    made.conditions = read_conditions(workload);
    for (const Value& check : items_at(workload, {"status", "admissionChecks"})) {
        made.checks.push_back({.name = text_at(check, {"name"}),
                               .state = text_at(check, {"state"}),
                               .message = one_line(text_at(check, {"message"}), 400)});
    }
    return made;
}

PodSight read_pod(const Value& pod) {
    PodSight made;
    made.name = text_at(pod, {"metadata", "name"});
    made.created = text_at(pod, {"metadata", "creationTimestamp"});
    made.node = text_at(pod, {"spec", "nodeName"});
    made.phase = text_at(pod, {"status", "phase"});
    made.index = annotation(pod, "batch.kubernetes.io/job-completion-index");
    made.is_gated = !items_at(pod, {"spec", "schedulingGates"}).empty();
    made.ended_by = text_at(pod, {"status", "reason"});
    for (const Value& one : items_at(pod, {"status", "conditions"})) {
        if (text_at(one, {"type"}) != "PodScheduled" || text_at(one, {"status"}) == "True")
            continue;
        made.is_unschedulable = text_at(one, {"reason"}) == "Unschedulable";
        made.waiting = one_line(text_at(one, {"message"}), 400);
    }
    for (const Value& one : items_at(pod, {"status", "containerStatuses"})) {
        const std::string why = text_at(one, {"state", "waiting", "reason"});
        if (!why.empty()) {
            const std::string message = text_at(one, {"state", "waiting", "message"});
            made.waiting = one_line(why + (message.empty() ? "" : ": " + message), 400);
        }
        for (const char* const which : {"state", "lastState"}) {
            const std::string code = text_at(one, {which, "terminated", "exitCode"});
            if (code.empty() || made.exit_code) continue;
            made.exit_code = parse_number<int>(code);
            if (made.ended_by.empty())
                made.ended_by = text_at(one, {which, "terminated", "reason"});
        }
    }
    return made;
}

JobSight read_job(const Value& job, const Value* workload, const std::vector<const Value*>& pods) {
    JobSight made;
    made.space = text_at(job, {"metadata", "namespace"});
    made.name = text_at(job, {"metadata", "name"});
    made.uid = text_at(job, {"metadata", "uid"});
    made.user = text_at(job, {"metadata", "labels", kUserLabel});
    made.queue = text_at(job, {"metadata", "labels", kQueueLabel});
    made.created = text_at(job, {"metadata", "creationTimestamp"});
    made.started = text_at(job, {"status", "startTime"});
    made.attempt = static_cast<std::uint32_t>(
        parse_number<std::uint32_t>(annotation(job, kAttemptAnnotation)).value_or(1));
    made.pods = number_at(job, {"spec", "parallelism"}, 1);
    made.ready = number_at(job, {"status", "ready"}, 0);
    made.is_suspended = text_at(job, {"spec", "suspend"}) == "true";
    made.cluster_eta = annotation(job, kEtaAnnotation);
    if (const std::string text = annotation(job, kRequestAnnotation); !text.empty()) {
        if (auto request = document::parse_json(text)) made.request = *std::move(request);
    }
    read_gpus(job, made);
    for (const Value* const pod : pods) made.running.push_back(read_pod(*pod));
    std::sort(made.running.begin(), made.running.end(), [](const PodSight& a, const PodSight& b) {
        return std::tie(a.created, a.name) < std::tie(b.created, b.name);
    });
    if (workload != nullptr) {
        made.workload = read_workload(*workload);
        if (made.cluster_eta.empty()) made.cluster_eta = made.workload->eta;
    }
    read_state(job, made);
    return made;
}

}  // namespace aliquot::cluster_jobs
