// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "base/result.h"
#include "controller/cluster_page.h"
#include "controller/idle_sight.h"
#include "controller/placement_options.h"
#include "document/value.h"
#include "kube_client/event_recorder.h"
#include "scaling/gatherer.h"

namespace aliquot::controller {

/// What is done about Jobs whose GPUs nobody uses.
struct IdleOptions {
    std::chrono::seconds after{0};  // told when its GPUs were idle for so long; 0: never
    bool ends = false;              // and ended when they still are, `grace` later
    std::chrono::seconds grace{600};
    std::chrono::seconds min_run{600};  // of each pod does not count: programs load their data
};

/// Looks every five seconds, while this replica leads, which Jobs have left all their GPUs idle, by what the agents measure:
/// an Event and the annotation aliquot.dev/idle on the Job, later its cancellation. A Job of which one pod that has not
/// ended is not measured is never idle. A thread of its own from start() to stop().
class IdleJobs {
public:
    /// errors   kInvalidInput: the agents' options
    static Result<std::unique_ptr<IdleJobs>> make(PlacementWorld world, IdleOptions options,
                                                  const PageOptions& agents);
    ~IdleJobs();

    void start();
    void stop();
    /// Prometheus text.
    [[nodiscard]] std::string metrics() const;

private:
    struct Job {
        kube_client::ObjectKey key;
        std::string uid;
        friend auto operator<=>(const Job&, const Job&) = default;
    };
    IdleJobs(PlacementWorld world, IdleOptions options);
    void run(const std::stop_token& stop);
    void look(const std::stop_token& stop);
    [[nodiscard]] std::set<Job> jobs_with_idle_pods(const std::stop_token& stop);
    [[nodiscard]] std::optional<std::chrono::seconds> idle_of(const Job& job,
                                                              const std::stop_token& stop) const;
    void judge(const Job& job, std::chrono::seconds idle, const std::stop_token& stop);
    void tell(const Job& job, std::chrono::seconds idle, const std::stop_token& stop);
    void end(const Job& job, const document::Value& object, std::chrono::seconds idle,
             const std::stop_token& stop);
    void take_back(const std::set<Job>& idle, const std::stop_token& stop);
    bool patch(const Job& job, const document::Value& patch, const std::stop_token& stop);
    void say(const Job& job, const char* reason, std::string note);

    const PlacementWorld world_;
    const IdleOptions options_;
    IdleSight sight_;
    kube_client::EventRecorder events_;
    std::map<std::string, Job> owners_;  // of pods that were idle, by uid
    std::set<Job> told_;
    std::atomic<std::uint64_t> told_count_{0};
    std::atomic<std::uint64_t> ended_count_{0};
    std::atomic<std::uint64_t> failures_{0};
    std::unique_ptr<scaling::Gatherer> gatherer_;
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace aliquot::controller
