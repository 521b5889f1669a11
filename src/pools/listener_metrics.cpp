// SPDX-License-Identifier: Apache-2.0
#include "pools/listener_metrics.h"

namespace aliquot::pools {
namespace {

using document::append;
using document::make_mapping;
using document::Value;
using Words = std::vector<std::string>;

Value with_labels(Words labels) { return make_mapping({{"labels", std::move(labels)}}); }

Value histogram(Words labels, const std::vector<double>& buckets) {
    return make_mapping({{"labels", std::move(labels)}, {"buckets", buckets}});
}

}  // namespace

Value listener_metrics() {
    // source   the chart's own list of labels, chart 0.14
    const Words job{"repository", "organization",     "enterprise",        "job_name",
                    "event_name", "job_workflow_ref", "job_workflow_name", "job_workflow_target"};
    Words done = job;
    done.emplace_back("job_result");
    const Words set{"name", "namespace", "repository", "organization", "enterprise"};
    Value gauges = make_mapping();
    for (const char* const name :
         {"gha_assigned_jobs", "gha_running_jobs", "gha_registered_runners", "gha_busy_runners",
          "gha_min_runners", "gha_max_runners", "gha_desired_runners", "gha_idle_runners"}) {
        append(gauges, name, with_labels(set));
    }
    return make_mapping(
        {{"counters", make_mapping({{"gha_started_jobs_total", with_labels(job)},
                                    {"gha_completed_jobs_total", with_labels(done)}})},
         {"gauges", gauges},
         {"histograms",
          make_mapping(
              {{"gha_job_startup_duration_seconds",
                histogram(job, {1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600})},
               {"gha_job_execution_duration_seconds",
                histogram(done, {10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600})}})}});
}

}  // namespace aliquot::pools
