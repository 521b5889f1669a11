// SPDX-License-Identifier: Apache-2.0
#include "pools/runner_metrics.h"

#include <gtest/gtest.h>

#include "document/path.h"
#include "pools/listener_metrics.h"
#include "pools/read.h"

namespace aliquot::pools {
namespace {

using document::text_at;

Pool pool_of(const std::string& spec) {
    return read_pools(
               "apiVersion: aliquot.dev/v1alpha1\nkind: Pool\nmetadata: {name: ci}\nspec: {max: "
               "10, " +
               spec + "}\n")
        .pools.at(0);
}

TEST(RunnerMetrics, OfJobsAreToldByWorkflowAndNoneIsLost) {
    const auto metrics = listener_metrics();
    const auto has = [&](const std::string& path) {
        for (const auto& label : document::at_path(metrics, path + ".labels")->items) {
            if (label.scalar == "job_workflow_name") return true;
        }
        return false;
    };
    EXPECT_TRUE(has("counters.gha_started_jobs_total"));
    EXPECT_TRUE(has("counters.gha_completed_jobs_total"));
    EXPECT_TRUE(has("histograms.gha_job_startup_duration_seconds"));
    EXPECT_TRUE(has("histograms.gha_job_execution_duration_seconds"));
    EXPECT_EQ(document::at_path(metrics, "gauges")->entries.size(), 8U);
}

TEST(RunnerMetrics, CostOfAJobIsItsPartOfTheNode) {
    // Four T4 for 3.912 USD an hour; a job has one.
    const auto rules = runner_rules(pool_of("instances: [g4dn.12xlarge]"), {}, std::nullopt);
    ASSERT_TRUE(rules) << rules.error().message;
    EXPECT_EQ(text_at(*rules, "spec.groups.0.rules.2.expr"),
              "sum by (repository, job_workflow_name) (gha_job_execution_duration_seconds_sum"
              "{pod=~\"ci-.*-listener\"}) / 3600 * 0.978");
    RunnerOptions share;
    share.resource = "nvidia.com/gpu.shared";
    const auto quarter =
        runner_rules(pool_of("node: {resources: {cpu: 8, nvidia.com/gpu.shared: 4}}"), share, 2.0);
    ASSERT_TRUE(quarter) << quarter.error().message;
    EXPECT_TRUE(text_at(*quarter, "spec.groups.0.rules.3.expr").ends_with("/ 3600 * 0.5"));
}

TEST(RunnerMetrics, OfNodesWithoutAPriceAreRefused) {
    const auto rules = runner_rules(pool_of("node: {resources: {nvidia.com/gpu: 1}}"), {}, {});
    ASSERT_FALSE(rules);
    EXPECT_NE(rules.error().message.find("--price"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::pools
