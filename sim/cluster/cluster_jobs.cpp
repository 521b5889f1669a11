// SPDX-License-Identifier: Apache-2.0
//
// The Jobs of a cluster: a pod more where one has failed, until there are enough or too many have.
#include <algorithm>

#include "sim/cluster/cluster.h"

namespace aliquot::sim::cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstJobRetry = 1000ms;

}  // namespace

void Cluster::run_job(Job& job, TimePoint now) {
    if (job.over) return;
    const Workload& workload = *job.workload;
    unsigned active = 0;
    unsigned succeeded = 0;
    unsigned failures = 0;
    for (const Pod* const pod : job.pods) {
        if (pod->phase == Phase::kSucceeded) ++succeeded;
        if (pod->phase == Phase::kFailed) ++failures;
        if (pod->is_finished()) continue;
        ++active;
        if (pod->run) failures += pod->run->restarts();
    }
    const bool failed_again = failures > job.failures;
    job.failures = failures;
    if (failures > workload.backoff_limit) {
        give_up(job);
        return;
    }
    job.over = succeeded >= workload.replicas;
    for (Pod* const pod : job.pods) pod->replaced |= pod->phase == Phase::kFailed;
    const unsigned wanted = std::min(workload.parallelism, workload.replicas - succeeded);
    for (; !job.over && active < wanted; ++active) {
        Pod& pod = add_pod(workload, workload.replicas > 1);
        job.pods.push_back(&pod);
        if (!failed_again) continue;
        constexpr unsigned kMostDoublings = 5;
        pod.not_before = now + kFirstJobRetry * (1U << std::min(failures - 1, kMostDoublings));
        pod.reason = "tried again after " + std::to_string(failures) + " failures";
    }
}

void Cluster::give_up(Job& job) {
    job.over = true;
    for (Pod* const pod : job.pods) {
        if (pod->phase == Phase::kFailed) pod->replaced = false;
        if (pod->is_finished()) continue;
        if (pod->run) pod->run->stop(1000ms);
        finish(*pod, Phase::kFailed, "BackoffLimitExceeded: " + pod->reason);
    }
}

}  // namespace aliquot::sim::cluster
