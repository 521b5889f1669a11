// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster_jobs/sight.h"
#include "jobs/request.h"
#include "kube_client/api.h"

namespace aliquot::cluster_jobs {

const kube_client::Resource& workloads();
const kube_client::Resource& cluster_queues();
const kube_client::Resource& local_queues();
const kube_client::Resource& resource_flavors();
const kube_client::Resource& admission_checks();

/// GPU jobs of one namespace, or of all, by the API server and the rights of whoever `api` speaks for.
/// Thread-safe as far as `api` is. Every call asks the cluster: nothing is kept.
class ClusterJobs {
public:
    /// api     outlives it
    /// space   namespace of jobs whose request names none
    ClusterJobs(kube_client::Api& api, std::string space, kube_client::Call call = {})
        : api_(api), space_(std::move(space)), call_(std::move(call)) {}

    struct Submitted {
        JobSight job;
        bool is_new = false;
    };
    /// key      of the submitter, to ask twice and get one; empty: none
    /// errors   kInvalidInput with the fields that are wrong; kConflict: there is another job of that name, or of
    ///          that key, with the fields that differ; kPermission; kUnavailable
    Result<Submitted> submit(jobs::Request request, const std::string& key);

    struct Filter {
        std::string space;  // empty: of all namespaces
        std::string queue;
        std::string user;
        bool living = true;
        bool ended = true;
    };
    /// Oldest first.
    Result<std::vector<JobSight>> list(const Filter& filter);
    /// errors   kNotFound
    Result<JobSight> find(const std::string& name);
    /// others   also jobs of other namespaces that hold GPUs
    Result<document::Value> explain(const std::string& name, bool others = true);

    Result<JobSight> cancel(const std::string& name);
    Result<JobSight> suspend(const std::string& name);
    Result<JobSight> resume(const std::string& name);
    /// One that failed, expired or was cancelled: made anew under its name. What it is made of is in the cluster all the
    /// time: when it cannot be made anew, the error says so and another retry() does.
    /// errors   kNotFound; kConflict: it has not ended, or another has its name; kPermission: creating or deleting
    Result<JobSight> retry(const std::string& name);
    /// errors   kConflict: it has not ended
    Result<Done> remove(const std::string& name);

    struct Part {
        std::string bytes;
        std::uint64_t next = 0;
        bool ended = false;
    };
    /// Output of its newest pod, or of those of an array one after the other, from a byte on.
    Result<Part> logs(const std::string& name, std::uint64_t from, std::size_t most);
    /// The same as it comes, until the pod ends or `take` says false.
    Result<Done> follow(const std::string& name, const std::function<bool(std::string_view)>& take,
                        const std::stop_token& stop);

    /// Kueue's queues with quota and use. errors: kNotFound: it is not installed
    Result<document::Value> queues();
    /// Jobs of a queue (empty: of all) that wait, next first.
    Result<document::Value> pending(const std::string& queue);

    [[nodiscard]] const std::string& space() const { return space_; }

private:
    struct Whole {
        document::Value job;
        JobSight sight;
    };
    Result<Whole> look(const std::string& name);
    Result<JobSight> mark(const std::string& name, const char* annotation, const char* state);
    Result<Done> wait_for_workload(Whole& job);
    Result<Done> set_active(const Whole& job, bool active);
    bool comes_true(const JobSight& job, std::chrono::seconds patience,
                    const std::function<bool(const JobSight&)>& holds);
    Result<Done> patch_job(const JobSight& job, const document::Value& patch);
    Result<std::string> log_of(const JobSight& job, const PodSight& pod, std::uint64_t most);
    Result<Done> wait_gone(const JobSight& job);
    Result<JobSight> make_anew(const std::string& name, const document::Value& manifest,
                               const std::string& keeper);
    Result<JobSight> retry_kept(const std::string& name);

    kube_client::Api& api_;
    const std::string space_;
    const kube_client::Call call_;
};

/// A Job as it was submitted, out of one that is or was there: without what the API server and Kueue wrote.
document::Value as_submitted(const document::Value& job, std::uint32_t attempt);

}  // namespace aliquot::cluster_jobs
