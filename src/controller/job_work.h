// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cluster_jobs/foresight.h"
#include "cluster_jobs/workload.h"
#include "controller/idle_jobs.h"
#include "controller/job_checks.h"
#include "controller/placement_options.h"
#include "document/value.h"
#include "kube_client/informer.h"

namespace aliquot::controller {

struct KueueCaches;

struct JobOptions {
    bool enabled = false;
    /// How long quota may be reserved without an answer of the books before we say yes: fails open.
    std::chrono::seconds patience{10};
    std::chrono::seconds eta_every{20};  // at most so often an estimate is written to one Job
};

/// The role `jobs`: GPU jobs of the cluster, beside Kueue where it is there. Answers the admission checks of
/// controller aliquot.dev/placement by the placement's books, opens the gates aliquot.dev/planner and aliquot.dev/jobs,
/// writes when jobs will start (annotation aliquot.dev/eta), lets a Job start after those it comes after, removes
/// cancelled ones, stops those that say so. Every replica follows; only the leader writes. A thread of its own from start() to stop().
class JobWork {
public:
    using Ask = AdmissionChecks::Ask;

    /// ask   nullptr: nobody keeps books (the role placement is off)
    JobWork(PlacementWorld world, JobOptions options, Ask ask);
    ~JobWork();
    JobWork(const JobWork&) = delete;
    JobWork& operator=(const JobWork&) = delete;

    /// Looks for Jobs that leave their GPUs idle, too. Before start().
    /// errors   kInvalidInput: the agents' options
    Result<Done> watch_idle(const IdleOptions& options, const PageOptions& agents);
    void start();
    void stop();
    void wake();
    /// Prometheus text.
    [[nodiscard]] std::string metrics() const;

private:
    using Steady = std::chrono::steady_clock;
    struct Told {
        std::string text;
        Steady::time_point at;
    };

    void run(const std::stop_token& stop);
    bool has_kueue(const std::stop_token& stop);
    void start_after(const std::stop_token& stop);
    void remove_cancelled(const std::stop_token& stop);
    bool follow_stops(const std::stop_token& stop);
    void foresee(const std::stop_token& stop);
    /// By uid of the Workload.
    [[nodiscard]] std::map<std::string, std::chrono::system_clock::time_point> likely_starts()
        const;
    void write_estimates(const std::map<std::string, document::Value>& workloads,
                         const std::stop_token& stop);
    void write_foreseen(const document::Value& workload, const cluster_jobs::Foreseen& foreseen,
                        const std::stop_token& stop);
    [[nodiscard]] std::string cluster_queue_of(const document::Value& workload) const;
    /// Of the Job that a Workload is of: "name" or "uid"; empty: it is of something else.
    [[nodiscard]] static std::string job_of(const document::Value& workload,
                                            std::string_view field = "name");
    bool patch_job(const kube_client::ObjectKey& key, const std::string& uid,
                   const document::Value& patch, const std::stop_token& stop);
    bool open_gate(const kube_client::ObjectKey& job, const char* gate,
                   const std::stop_token& stop);

    const PlacementWorld world_;
    const JobOptions options_;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool look_ = true;

    // Of the thread.
    std::map<std::string, Told> told_;                      // what stands on a Workload, by its uid
    std::map<std::string, cluster_jobs::Foreseen> latest_;  // by uid of the Workload
    std::map<std::string, queue::Outcome> ended_;
    cluster_jobs::Foresight foresight_;
    Steady::time_point looked_for_kueue_;
    Steady::time_point foreseen_at_;
    Steady::time_point estimated_at_;
    Steady::time_point stops_at_;
    std::set<std::string> go_on_;  // uids of Workloads that were to go on when they were looked at

    std::atomic<std::uint64_t> released_{0};
    std::atomic<std::uint64_t> failures_{0};

    kube_client::Informer jobs_;
    kube_client::Informer nodes_;
    AdmissionChecks checks_;
    std::unique_ptr<KueueCaches> kueue_;  // null: it is not there
    std::unique_ptr<IdleJobs> idle_;      // null: nobody looks
    std::jthread thread_;                 // last: it uses all the others
};

}  // namespace aliquot::controller
