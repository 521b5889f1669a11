// SPDX-License-Identifier: Apache-2.0
//
// `aliquot job retry` of a cluster, when the cluster refuses a part of it.
#include <gmock/gmock.h>

#include "cluster_jobs/cluster_jobs.h"
#include "tests/contract/refusing_api.h"

namespace aliquot::contract {
namespace {

using cluster_jobs::ClusterJobs;
using jobs::State;
using testing::HasSubstr;

class JobRetryContract : public KubeContract {};

TEST_P(JobRetryContract, ARetryThatFailsLosesNoJob) {
    RefusingApi refusing(api());
    ClusterJobs cluster(refusing, space_);
    jobs::Request asked;
    asked.name = "train";
    asked.image = "none.invalid/c:1";
    asked.gpu_count = 2;
    asked.gpu_type = "any";
    asked.user = "ada";
    asked.queue = "vision";
    ASSERT_TRUE(cluster.submit(asked, ""));
    const auto cancelled = cluster.cancel("train");
    ASSERT_TRUE(cancelled) << cancelled.error().message;
    const auto creates = [](const std::string& word) {
        return [word](const kube_client::Request& one) {
            return one.method == "POST" && one.body.contains(word);
        };
    };
    // Who may not delete, or not create: it is as it was.
    refusing.refuses = [](const kube_client::Request& one) { return one.method == "DELETE"; };
    EXPECT_EQ(cluster.retry("train").error().code, ErrorCode::kPermission);
    refusing.refuses = creates("");
    EXPECT_EQ(cluster.retry("train").error().code, ErrorCode::kPermission);
    const auto untouched = cluster.find("train");
    ASSERT_TRUE(untouched) << untouched.error().message;
    EXPECT_EQ(untouched->uid, cancelled->uid);
    EXPECT_EQ(cluster.list({.space = space_})->size(), 1U);
    // The former one is gone and the new one refused.
    refusing.refuses = creates(R"("name":"train","namespace")");
    const auto lost = cluster.retry("train");
    ASSERT_FALSE(lost);
    EXPECT_THAT(lost.error().message, HasSubstr("keeps it for another 'retry'"));
    EXPECT_THAT(lost.error().message, HasSubstr("exceeded quota"));
    EXPECT_EQ(cluster.find("train").error().code, ErrorCode::kNotFound);
    const auto kept = cluster.list({.space = space_});
    ASSERT_EQ(kept->size(), 1U);
    EXPECT_TRUE(kept->at(0).is_suspended);
    EXPECT_EQ(kept->at(0).queue, "");
    refusing.refuses = nullptr;
    const auto retried = cluster.retry("train");
    ASSERT_TRUE(retried) << retried.error().message;
    EXPECT_EQ(retried->attempt, 2U);
    EXPECT_EQ(retried->user, "ada");
    EXPECT_EQ(retried->queue, "vision");
    EXPECT_EQ(retried->pods, 1U);
    EXPECT_EQ(retried->gpus, 2U);
    EXPECT_TRUE(retried->is_suspended);  // by its queue
    EXPECT_EQ(retried->state, State::kQueued);
    EXPECT_FALSE(cluster.submit(asked, "")->is_new) << "its request is what it was";
    EXPECT_EQ(cluster.list({.space = space_})->size(), 1U);
    EXPECT_EQ(cluster.retry("other").error().code, ErrorCode::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Api, JobRetryContract,
                         testing::Values(KubeParam{"simulated", simulated_kube_world}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot::contract
