// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sharing/offer.h"
#include "sim/cluster/claims_of_node.h"
#include "sim/cluster/host.h"
#include "sim/cluster/pod_processes.h"
#include "sim/cluster/pod_run.h"
#include "sim/cluster/scheduler.h"
#include "sim/cluster/share_accounts.h"
#include "sim/cluster/snapshot.h"
#include "sim/cluster/workload.h"
#include "sim/kubelet/kubelet.h"

namespace aliquot::sim::cluster {

/// One pod from manifest to end.
struct Pod {
    const Workload* workload = nullptr;
    PodIdentity identity;
    Phase phase = Phase::kPending;
    std::string reason;
    HeldDevices devices;  // that it holds now
    HeldDevices granted_devices;
    ClaimedDevices claimed;  // what it has, or had, by claims
    Environment granted;     // what Allocate returned, over its containers
    std::unique_ptr<PodRun> run;
    std::string log;
    unsigned refusals = 0;  // UnexpectedAdmissionError and the like
    TimePoint not_before;   // of the next try
    bool blocked = false;   // Pending, and `reason` says why
    bool replaced = false;  // its Job has made another one

    [[nodiscard]] bool is_finished() const {
        return phase == Phase::kSucceeded || phase == Phase::kFailed;
    }
};

/// Scheduler, controllers and container runtime of the one node. Not thread-safe.
class Cluster {
public:
    /// host, kubelet, processes   must outlive the cluster
    /// claims                     of a node whose GPUs are handed out by claims; null: by the device plugin
    Cluster(Host& host, sim::Kubelet& kubelet, PodProcesses& processes,
            std::unique_ptr<ClaimsOfNode> claims, sharing::Offer offer, gpu::Inventory inventory,
            Labels labels, std::vector<Workload> workloads);

    /// Does all that can be done now.
    void tick(TimePoint now);

    /// Ends every container: SIGTERM to all, SIGKILL after `grace`.
    void stop(std::chrono::milliseconds grace);

    /// Every device that the node offers is known to kubelet (since some tick).
    [[nodiscard]] bool is_ready() const { return ready_; }
    /// Nothing will change by itself: each pod runs, has ended, or waits for a reason.
    [[nodiscard]] bool is_settled(TimePoint now) const;
    [[nodiscard]] bool is_finished() const;
    [[nodiscard]] Snapshot snapshot() const;
    /// "deployment kokoro: ..." to be told once, in order; each call returns what is new.
    std::vector<std::string> take_notes();
    [[nodiscard]] const Labels& labels() const { return labels_; }

private:
    /// The pods of a Job and what has become of them.
    struct Job {
        const Workload* workload = nullptr;
        std::vector<Pod*> pods;
        unsigned failures = 0;  // of pods, and restarts of containers
        bool over = false;
    };

    Pod& add_pod(const Workload& workload, bool numbered);
    std::string free_name(const Workload& workload, bool numbered) const;
    void look_at_node(TimePoint now);
    [[nodiscard]] NodeView node_view() const;
    void schedule(TimePoint now);
    void admit(Pod& pod, TimePoint now);
    bool give_claims(Pod& pod, TimePoint now);
    void refuse(Pod& pod, const std::string& why, TimePoint now);
    void take_devices(Pod& pod);
    Result<Done> start(Pod& pod, const std::vector<sim::ContainerGrant>& grants);
    Result<ContainerPlan> plan_of(const Pod& pod, const Container& container,
                                  const grant::Grant& grant);
    void run_pods(TimePoint now);
    void show_processes(TimePoint now);
    void finish(Pod& pod, Phase phase, std::string reason);
    void run_job(Job& job, TimePoint now);
    void give_up(Job& job);
    [[nodiscard]] PodRow row_of(const Pod& pod) const;

    Host& host_;
    sim::Kubelet& kubelet_;
    PodProcesses& processes_;
    std::unique_ptr<ClaimsOfNode> claims_;
    sharing::Offer offer_;
    gpu::Inventory inventory_;
    Labels labels_;
    std::vector<Workload> workloads_;
    std::vector<std::unique_ptr<Pod>> pods_;
    std::vector<Job> jobs_;
    std::map<std::string, sim::ResourceView> resources_;
    std::vector<std::string> notes_;
    TimePoint next_look_;
    bool ready_ = false;
};

}  // namespace aliquot::sim::cluster
