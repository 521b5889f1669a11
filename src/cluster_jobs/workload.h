// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster_jobs/foresight.h"
#include "document/value.h"

/// Workloads, queues and admission checks of Kueue, as documents. Pure.
namespace aliquot::cluster_jobs {

/// Of an AdmissionCheck whose answer is ours.
inline constexpr char kCheckController[] = "aliquot.dev/placement";
/// The gate (annotation kueue.x-k8s.io/admission-gated-by) that the planner opens.
inline constexpr char kPlannerGate[] = "aliquot.dev/planner";
/// The one that is opened when the jobs that come before have succeeded.
inline constexpr char kAfterGate[] = "aliquot.dev/jobs";
inline constexpr char kGatedBy[] = "kueue.x-k8s.io/admission-gated-by";

/// The pods that a Workload will have, with the node labels and tolerations of the flavours that quota is reserved in:
/// JSON of a Pod each, at most 1024. Their uids are made up from the Workload's.
/// likely   names of the flavours of one without quota
std::vector<std::string> pods_of(const document::Value& workload,
                                 const std::map<std::string, document::Value>& flavors,
                                 const std::vector<std::string>& likely = {});

/// The names of those of its admission checks that are ours and wait for an answer.
std::vector<std::string> checks_to_answer(const document::Value& workload,
                                          const std::vector<std::string>& ours);

/// Of a Workload that waits for quota: those of its checks that are ours. None: it has quota, has ended, is inactive, gated
/// or was evicted.
struct ChecksAhead {
    std::vector<std::string> names;
    bool are_ready = false;  // all of them
};
ChecksAhead checks_ahead(const document::Value& workload, const std::vector<std::string>& ours);

/// Whether quota is reserved for it and it has not ended.
bool has_quota(const document::Value& workload);

/// The flavours that a ClusterQueue's quota is in; nullopt: of some resource it has several, and admission chooses.
std::optional<std::vector<std::string>> only_flavors(const document::Value& cluster_queue);

/// An answer to an admission check.
struct CheckAnswer {
    enum class State : std::uint8_t { kReady, kRetry, kPending };
    State state = State::kReady;
    std::string message;
    std::chrono::seconds again_after{60};  // kRetry
};
/// What is applied to the Workload's status: our entry alone.
document::Value check_patch(const document::Value& workload, const std::string& check,
                            const CheckAnswer& answer, std::chrono::system_clock::time_point now);
/// The condition Active of an AdmissionCheck, as it is applied to its status; nullopt: it says so already.
std::optional<document::Value> active_patch(const document::Value& check,
                                            std::chrono::system_clock::time_point now);

/// As a merge patch of a Workload: stopped by what its Job says, or going on.
document::Value stop_patch(bool stopped);

/// GPUs that a ClusterQueue may use, all flavours together.
QueueOffer offer_of(const document::Value& cluster_queue);

/// A Workload as the planner plans it; nullopt: it asks for no GPUs, or has ended.
/// queue    the ClusterQueue that its LocalQueue feeds; empty: not known
std::optional<Task> task_of(const document::Value& workload, const std::string& queue);

/// The gates without one of them; nullopt: it is not there. Empty: none is left.
std::optional<std::string> without_gate(const std::string& gates, const std::string& gate);

}  // namespace aliquot::cluster_jobs
