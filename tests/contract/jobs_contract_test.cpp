// SPDX-License-Identifier: Apache-2.0
//
// GPU jobs of a cluster: what `aliquot job` does to its Jobs, and those that come after others.
#include "tests/contract/jobs_world.h"

namespace aliquot::contract {
namespace {

// R29.
TEST_P(JobsContract, AJobIsSubmittedStoppedAndMadeAnewUnderItsName) {
    ClusterJobs jobs(api(), space_);
    const auto made = jobs.submit(request("train"), "");
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->is_new);
    EXPECT_EQ(made->job.user, "ada");
    EXPECT_EQ(made->job.gpus, 1U);
    const auto again = jobs.submit(request("train"), "");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(again->is_new);
    const auto other = jobs.submit(request("train", 2), "");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::kConflict);
    EXPECT_THAT(other.error().message, HasSubstr("gpu_count"));
    EXPECT_EQ(jobs.submit(request("wrong", 3), "").error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(jobs.find("none").error().code, ErrorCode::kNotFound);

    const auto stopped = jobs.suspend("train");
    ASSERT_TRUE(stopped) << stopped.error().message;
    EXPECT_EQ(stopped->state, State::kSuspended);
    EXPECT_TRUE(is_suspended("train"));
    const auto resumed = jobs.resume("train");
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_FALSE(is_suspended("train"));
    EXPECT_EQ(jobs.resume("train").error().code, ErrorCode::kConflict);

    EXPECT_EQ(jobs.remove("train").error().code, ErrorCode::kConflict);
    const auto cancelled = jobs.cancel("train");
    ASSERT_TRUE(cancelled) << cancelled.error().message;
    EXPECT_EQ(cancelled->state, State::kCancelled);
    EXPECT_EQ(jobs.cancel("train").error().code, ErrorCode::kConflict);
    const auto listed = jobs.list({.space = space_, .living = false});
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->size(), 1U);
    const std::string uid = listed->at(0).uid;
    const auto retried = jobs.retry("train");
    ASSERT_TRUE(retried) << retried.error().message;
    EXPECT_EQ(retried->attempt, 2U);
    EXPECT_NE(retried->uid, uid);
    EXPECT_EQ(retried->state, State::kStarting);
    EXPECT_EQ(jobs.submit(request("train"), "")->is_new, false);
    ASSERT_TRUE(jobs.cancel("train"));
    ASSERT_TRUE(jobs.remove("train"));
    EXPECT_TRUE(becomes_true([&] { return !jobs.find("train"); }));
}

TEST_P(JobsContract, AJobThatComesAfterAnotherStartsWhenThatHasSucceeded) {
    ClusterJobs jobs(api(), space_);
    ASSERT_TRUE(jobs.submit(request("prepare"), ""));
    ASSERT_TRUE(jobs.submit(request("fails"), ""));
    for (const auto& [name, before] :
         {std::pair("train", "prepare"), std::pair("never", "fails")}) {
        auto asked = request(name);
        asked.after = {before};
        const auto made = jobs.submit(asked, "");
        ASSERT_TRUE(made) << made.error().message;
        EXPECT_EQ(made->job.reason, std::string("waits for ") + before);
    }
    const auto controller = start_jobs();
    set_job_status("fails", "Failed");
    ASSERT_TRUE(becomes_true([&] { return jobs.find("never")->state == State::kCancelled; }))
        << controller->said();
    EXPECT_TRUE(is_suspended("train"));
    set_job_status("prepare", "Complete");
    EXPECT_TRUE(becomes_true([&] { return !is_suspended("train"); })) << controller->said();
    EXPECT_TRUE(is_suspended("never"));
}

INSTANTIATE_TEST_SUITE_P(Api, JobsContract,
                         testing::Values(KubeParam{"simulated", simulated_kube_world}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot::contract
