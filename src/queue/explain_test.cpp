// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "queue/planner.h"

namespace aliquot::queue {
namespace {

constexpr Time kMinute = 60'000;
using Why = Explanation::Why;

class Explain : public ::testing::Test {
protected:
    void SetUp() override {
        for (int i = 0; i < 2; ++i)
            ASSERT_TRUE(
                planner.add_node({.name = "n" + std::to_string(i), .devices = 4, .model = "A100"})
                    .ok());
    }
    void submit(JobId id, unsigned gpus, Time expected, std::string queue = "") {
        ASSERT_TRUE(
            planner
                .submit({.id = id,
                         .queue = std::move(queue),
                         .request = {.gpus = static_cast<std::uint8_t>(gpus), .milli = 1000},
                         .submitted = now,
                         .expected = expected},
                        now)
                .ok());
        ++now;
    }
    Explanation explained(JobId id) {
        auto made = planner.explain(id, now);
        EXPECT_TRUE(made.ok());
        return made.ok() ? *made : Explanation{};
    }
    Planner planner;
    Time now = 0;
};

// R75.
TEST_F(Explain, NamesWhoHoldsTheDevicesAndWhenTheyEnd) {
    submit(1, 3, 50 * kMinute);
    submit(2, 3, 20 * kMinute);
    planner.decide(now);
    submit(3, 4, 5 * kMinute);
    planner.decide(now);
    const Explanation made = explained(3);
    EXPECT_EQ(made.why, Why::kDevices);
    EXPECT_EQ(made.position, 1U);
    EXPECT_TRUE(made.ahead.empty());
    ASSERT_EQ(made.holders.size(), 1U);
    EXPECT_EQ(made.holders[0].id, 2U);
    EXPECT_EQ(made.earliest, made.holders[0].ends);
    ASSERT_TRUE(made.smaller);
    EXPECT_EQ(made.smaller->gpus, 1U);
    EXPECT_EQ(explained(1).why, Why::kRuns);
    EXPECT_FALSE(planner.explain(99, now).ok());
}

TEST_F(Explain, ProposesASmallerJobOfThoseThatWouldDelayOnlyItself) {
    submit(1, 4, 50 * kMinute);
    submit(2, 3, 20 * kMinute);
    planner.decide(now);
    submit(3, 2, 60 * kMinute);  // is promised its place at 20 minutes, and would run longer
    planner.decide(now);
    const Explanation made = explained(3);
    EXPECT_EQ(made.why, Why::kDevices);
    ASSERT_TRUE(made.smaller);
    EXPECT_EQ(made.smaller->gpus, 1U);
}

TEST_F(Explain, NamesTheJobThatAStartWouldDelay) {
    submit(1, 3, 50 * kMinute);
    submit(2, 3, 20 * kMinute);
    submit(3, 4, 5 * kMinute);
    planner.decide(now);
    submit(4, 1, 30 * kMinute);  // on node 0 it can, on node 1 it would delay job 3
    submit(5, 1, 30 * kMinute);
    planner.decide(now);
    EXPECT_EQ(explained(4).why, Why::kRuns);
    const Explanation made = explained(5);
    EXPECT_EQ(made.why, Why::kReservation);
    EXPECT_EQ(made.promised, 3U);
    EXPECT_EQ(made.ahead, std::vector<JobId>{3});
    EXPECT_EQ(made.position, 2U);
    EXPECT_FALSE(made.smaller);  // nothing that runs so long would start now
}

// R75.
TEST_F(Explain, TellsAQuotaFromDevicesAndWhatNeverFits) {
    ASSERT_TRUE(planner.set_queue({.name = "lab", .quota_milli = 3000}).ok());
    submit(1, 2, 10 * kMinute, "lab");
    submit(2, 2, 10 * kMinute, "lab");
    submit(3, 4, 10 * kMinute, "lab");
    submit(4, 5, 10 * kMinute);
    planner.decide(now);
    const Explanation made = explained(2);
    EXPECT_EQ(made.why, Why::kQuota);
    ASSERT_EQ(made.holders.size(), 1U);
    EXPECT_EQ(made.holders[0].id, 1U);
    EXPECT_EQ(made.earliest, made.holders[0].ends);
    ASSERT_TRUE(made.smaller);
    EXPECT_EQ(made.smaller->gpus, 1U);
    EXPECT_EQ(explained(3).why, Why::kImpossible);
    EXPECT_EQ(explained(4).why, Why::kImpossible);
    EXPECT_FALSE(planner.could_ever_start({.id = 9, .request = {.gpus = 5, .milli = 1000}}));
    EXPECT_TRUE(
        planner.could_ever_start({.id = 9, .request = {.gpus = 4, .milli = 1000}, .gang = 2}));
}

TEST_F(Explain, WhatItProposesStartsAtOnce) {
    submit(1, 3, 50 * kMinute);
    submit(2, 2, 20 * kMinute);
    planner.decide(now);
    Job gang{.id = 3,
             .request = {.gpus = 1, .milli = 1000},
             .gang = 6,
             .submitted = now,
             .expected = kMinute};
    ASSERT_TRUE(planner.submit(gang, now).ok());
    planner.decide(now);
    const Explanation made = explained(3);
    ASSERT_TRUE(made.smaller);
    EXPECT_EQ(made.smaller->gang, 3U);
    gang.id = 4;
    gang.gang = made.smaller->gang;
    ASSERT_TRUE(planner.submit(gang, now).ok());
    const Plan plan = planner.decide(now);
    ASSERT_EQ(plan.starts.size(), 1U);
    EXPECT_EQ(plan.starts[0].id, 4U);
}

// R72.
TEST_F(Explain, AForecastOrdersAndBoundsTheWaiting) {
    submit(1, 4, 10 * kMinute);
    submit(2, 4, 20 * kMinute);
    planner.decide(now);
    submit(3, 4, 30 * kMinute);
    submit(4, 4, 5 * kMinute);
    submit(5, 4, 5 * kMinute);
    planner.decide(now);
    const std::vector<Eta> etas = planner.forecast(now);
    ASSERT_EQ(etas.size(), 3U);
    EXPECT_EQ(etas[0].id, 3U);
    EXPECT_EQ(etas[0].position, 1U);
    EXPECT_NEAR(static_cast<double>(etas[0].p50), 10.0 * kMinute, 1'000);
    EXPECT_NEAR(static_cast<double>(etas[1].p50), 20.0 * kMinute, 1'000);
    EXPECT_NEAR(static_cast<double>(etas[2].p50), 25.0 * kMinute, 1'000);
    for (const Eta& eta : etas) EXPECT_GE(eta.p90, eta.p50);
    EXPECT_EQ(explained(4).eta.p50, etas[1].p50);
}

}  // namespace
}  // namespace aliquot::queue
