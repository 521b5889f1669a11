// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "document/value.h"
#include "jobs/retry.h"
#include "jobs/state.h"

/// GPU jobs of a cluster: plain batch/v1 Jobs, in a queue of Kueue where there is one. The same words, states and
/// documents as those of one machine (src/job_server).
namespace aliquot::cluster_jobs {

// Annotations of a Job.
inline constexpr char kRequestAnnotation[] = "aliquot.dev/request";
inline constexpr char kKeyAnnotation[] = "aliquot.dev/idempotency-key";
inline constexpr char kAttemptAnnotation[] = "aliquot.dev/attempt";  // tries by `retry`, from 1
inline constexpr char kSuspendedAnnotation[] =
    "aliquot.dev/suspended";  // when somebody asked for it
inline constexpr char kCancelledAnnotation[] = "aliquot.dev/cancelled";
/// Of a Workload: "true" while it is inactive because its Job says one of the two.
inline constexpr char kStoppedAnnotation[] = "aliquot.dev/stopped";
inline constexpr char kAfterAnnotation[] =
    "aliquot.dev/after";  // names of Jobs that must succeed first
/// What the planner foresees: {"position":3,"p50":"...","p90":"...","why":"..."}.
inline constexpr char kEtaAnnotation[] = "aliquot.dev/eta";
/// Of a Job that leaves its GPUs idle: {"since":"...","told":"..."}.
inline constexpr char kIdleAnnotation[] = "aliquot.dev/idle";
/// Of one that was cancelled for it: the reason, one line.
inline constexpr char kIdleEndAnnotation[] = "aliquot.dev/ended-idle";
/// What the spec of a Job that keeps another one (kKeptLabel) does not say: its metadata, as JSON.
inline constexpr char kKeptAnnotation[] = "aliquot.dev/kept";
// Labels.
inline constexpr char kKeptLabel[] = "aliquot.dev/kept-of";  // the name, while `retry` is at work
inline constexpr char kUserLabel[] = "aliquot.dev/user";
inline constexpr char kQueueLabel[] = "kueue.x-k8s.io/queue-name";

/// A condition of a status.
struct Condition {
    std::string type;
    bool is_true = false;
    std::string reason;
    std::string message;
    std::string since;  // RFC 3339
};

/// An entry of a Workload's status.admissionChecks.
struct CheckState {
    std::string name;
    std::string state;
    std::string message;
};

/// What Kueue says of a Job.
struct WorkloadSight {
    std::string name;
    std::string uid;
    std::string cluster_queue;  // that has reserved quota for it; empty: none
    std::string eta;            // kEtaAnnotation, as it stands there
    bool active = true;
    std::int32_t priority = 0;
    std::vector<Condition> conditions;
    std::vector<CheckState> checks;

    [[nodiscard]] const Condition* find(std::string_view type) const;
    [[nodiscard]] bool is(std::string_view type) const;
};

/// One pod of it.
struct PodSight {
    std::string name;
    std::string node;
    std::string phase;
    std::string created;
    std::string index;    // of an array or a gang
    std::string waiting;  // why it does not run, one line; empty: it runs or has ended
    bool is_gated = false;
    bool is_unschedulable = false;
    std::optional<int> exit_code;
    std::string ended_by;  // "OOMKilled", "Error", of a container; "Evicted" of the pod
};

/// A Job with all that belongs to it, as somebody who asks for it is told.
struct JobSight {
    std::string space;
    std::string name;
    std::string uid;
    std::string user;
    std::string queue;
    std::string created;
    std::string started;
    std::string ended;
    std::string cluster_eta;  // kEtaAnnotation of Job or Workload
    jobs::State state = jobs::State::kQueued;
    jobs::Cause cause = jobs::Cause::kNone;
    std::string reason;  // one line
    std::optional<int> exit_code;
    std::uint32_t attempt = 1;
    std::uint64_t gpus = 0;  // of one pod
    std::string gpu_resource;
    std::string gpu_memory;  // of a share that was asked for by size
    std::string gpu_compute;
    std::uint64_t pods = 1;  // at a time
    std::uint64_t ready = 0;
    bool is_suspended = false;  // spec.suspend
    document::Value request;    // kRequestAnnotation; null: it was not submitted by us
    std::vector<PodSight> running;
    std::optional<WorkloadSight> workload;
};

/// Whether a Job is one of GPUs: submitted by us, or its pods ask for a GPU.
bool is_gpu_job(const document::Value& job);

WorkloadSight read_workload(const document::Value& workload);
PodSight read_pod(const document::Value& pod);

/// What a Job says, together with its Workload and its pods.
/// workload   null: Kueue is not there, or has not seen it yet
JobSight read_job(const document::Value& job, const document::Value* workload,
                  const std::vector<const document::Value*>& pods);

/// The document that callers get: the members of api/jobs.yaml's Job.
document::Value to_document(const JobSight& job);
/// The same with pods, workload and the steps that the cluster remembers.
document::Value to_long_document(const JobSight& job);
/// Why it waits, in words.
document::Value to_explanation(const JobSight& job, const std::vector<JobSight>& others);

}  // namespace aliquot::cluster_jobs
