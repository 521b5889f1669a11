// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "queue/planner.h"

namespace aliquot::queue {
namespace {

constexpr Time kMinute = 60'000;

class Reclaim : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(planner.add_node({.name = "n0", .devices = 4, .model = "A100"}).ok());
        ASSERT_TRUE(planner.set_queue({.name = "a", .cohort = "lab", .quota_milli = 2000}).ok());
        ASSERT_TRUE(
            planner
                .set_queue(
                    {.name = "b", .cohort = "lab", .quota_milli = 2000, .min_run = 5 * kMinute})
                .ok());
    }
    void submit(JobId id, const char* queue, unsigned gpus, bool preemptible = true) {
        ASSERT_TRUE(
            planner
                .submit({.id = id,
                         .queue = queue,
                         .request = {.gpus = static_cast<std::uint8_t>(gpus), .milli = 1000},
                         .submitted = static_cast<Time>(id),
                         .expected = 60 * kMinute,
                         .preemptible = preemptible},
                        static_cast<Time>(id))
                .ok());
    }
    Planner planner{Options{.reclaim = true}};
};

TEST_F(Reclaim, EndsTheBorrowersThatSufficeAndNoMore) {
    for (JobId id = 1; id <= 4; ++id) submit(id, "b", 1);
    EXPECT_EQ(planner.decide(10).starts.size(), 4U);
    submit(5, "a", 1);
    const Time later = 6 * kMinute;
    Plan plan = planner.decide(later);
    EXPECT_TRUE(plan.starts.empty());
    ASSERT_EQ(plan.preempts.size(), 1U);
    EXPECT_TRUE(planner.decide(later).preempts.empty());  // it is waited for, not ended twice
    ASSERT_TRUE(planner.requeue(plan.preempts[0], later).ok());
    plan = planner.decide(later);
    ASSERT_EQ(plan.starts.size(), 1U);
    EXPECT_EQ(plan.starts[0].id, 5U);
    EXPECT_TRUE(plan.preempts.empty());  // who was ended does not end others
    EXPECT_EQ(planner.self_check(), "");
}

// R71.
TEST_F(Reclaim, NobodyIsEndedBeforeItsMinimumRun) {
    for (JobId id = 1; id <= 4; ++id) submit(id, "b", 1);
    planner.decide(10);
    submit(5, "a", 1);
    EXPECT_TRUE(planner.decide(4 * kMinute).preempts.empty());
}

TEST_F(Reclaim, WhatIsNotPreemptibleOrWithinQuotaStays) {
    for (JobId id = 1; id <= 3; ++id) submit(id, "b", 1, false);
    submit(4, "a", 1);
    planner.decide(10);
    submit(5, "a", 1);
    EXPECT_TRUE(planner.decide(10 * kMinute).preempts.empty());
    Planner mild;
    ASSERT_TRUE(mild.add_node({.name = "n0", .devices = 1, .model = "A100"}).ok());
    EXPECT_TRUE(mild.decide(0).preempts.empty());
}

TEST_F(Reclaim, AGangGoesWhole) {
    Job gang{.id = 1,
             .queue = "b",
             .request = {.gpus = 1, .milli = 1000},
             .gang = 4,
             .expected = 60 * kMinute};
    ASSERT_TRUE(planner.submit(gang, 0).ok());
    planner.decide(0);
    submit(2, "a", 1);
    const Plan plan = planner.decide(10 * kMinute);
    ASSERT_EQ(plan.preempts, std::vector<JobId>{1});
    ASSERT_TRUE(planner.requeue(1, 10 * kMinute).ok());
    EXPECT_EQ(planner.decide(10 * kMinute).starts.size(), 1U);
    EXPECT_EQ(planner.waiting(), 1U);
}

}  // namespace
}  // namespace aliquot::queue
