// SPDX-License-Identifier: Apache-2.0
// What the role `jobs` follows, and its thread. Gates, estimates and the rest: job_queue.cpp.
#include "controller/job_work.h"

#include "base/log.h"
#include "cluster_jobs/cluster_jobs.h"
#include "controller/job_kueue.h"
#include "metrics/text.h"

namespace aliquot::controller {
namespace {

using document::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLookForKueue{60};
constexpr milliseconds kBetweenRounds{200};
constexpr seconds kBetweenIdleRounds{15};

kube_client::InformerOptions jobs_of_cluster() {
    return {.projection = kube_client::keep_fields({"metadata.creationTimestamp",
                                                    "metadata.annotations", "metadata.labels",
                                                    "spec.suspend", "spec.ttlSecondsAfterFinished",
                                                    "spec.activeDeadlineSeconds", "status"})};
}

kube_client::InformerOptions gpus_of_nodes() {
    return {.projection = kube_client::keep_fields(
                {"metadata.annotations", "spec.unschedulable", "status.allocatable"})};
}

}  // namespace

JobWork::JobWork(PlacementWorld world, JobOptions options, Ask ask)
    : world_(std::move(world)),
      options_(options),
      jobs_(world_.api, kube_client::resources::jobs(), jobs_of_cluster(),
            [this](const auto&, const auto&, const auto&) { wake(); }),
      nodes_(world_.api, kube_client::resources::nodes(), gpus_of_nodes()),
      checks_(world_, {.patience = options_.patience}, std::move(ask), jobs_.store()) {}

JobWork::~JobWork() { stop(); }

Result<Done> JobWork::watch_idle(const IdleOptions& options, const PageOptions& agents) {
    if (options.after.count() == 0) return Done{};
    auto idle = IdleJobs::make(world_, options, agents);
    if (!idle) return std::move(idle).error();
    idle_ = *std::move(idle);
    return Done{};
}

void JobWork::start() {
    jobs_.start();
    nodes_.start();
    if (idle_ != nullptr) idle_->start();
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void JobWork::stop() {
    thread_ = {};
    checks_.stop();
    if (idle_ != nullptr) idle_->stop();
}

void JobWork::wake() {
    {
        const std::scoped_lock lock(mutex_);
        look_ = true;
    }
    changed_.notify_all();
}

/// Looks now and then: Kueue may be installed later.
bool JobWork::has_kueue(const std::stop_token& stop) {
    if (kueue_ != nullptr) return true;
    const auto now = Steady::now();
    if (looked_for_kueue_ != Steady::time_point{} && now - looked_for_kueue_ < kLookForKueue)
        return false;
    looked_for_kueue_ = now;
    const auto found = world_.api.find_resource("kueue.x-k8s.io/v1beta2", "Workload",
                                                {.deadline = seconds(5), .stop = stop});
    if (!found) return false;
    kueue_ = std::make_unique<KueueCaches>(
        world_.api, [this] { wake(); }, [this](const auto& key) { checks_.note(key); });
    checks_.start(*kueue_);
    log::info("jobs.kueue_found");
    return true;
}

void JobWork::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        bool more = false;
        if (world_.elector.leads() && jobs_.state().synced) {
            start_after(stop);
            remove_cancelled(stop);
            if (has_kueue(stop) && kueue_->is_synced()) {
                more = follow_stops(stop);
                foresee(stop);
            }
        }
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, more ? kBetweenRounds : milliseconds(kBetweenIdleRounds),
                          [this] { return look_; });
        look_ = false;
        lock.unlock();
        // News come in crowds: one look for all of them.
        std::unique_lock pause(mutex_);
        changed_.wait_for(pause, stop, kBetweenRounds, [] { return false; });
    }
}

std::string JobWork::metrics() const {
    std::string out = checks_.metrics() + (idle_ ? idle_->metrics() : "");
    metrics::Text text(out);
    text.single("aliquot_controller_jobs_released_total", "Gates of jobs that were opened",
                "counter", released_);
    text.single("aliquot_controller_jobs_failures_total", "Writes of the role jobs that failed",
                "counter", failures_);
    return out;
}

}  // namespace aliquot::controller
