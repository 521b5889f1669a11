// SPDX-License-Identifier: Apache-2.0
#include "queue/planner.h"

#include <gtest/gtest.h>

namespace aliquot::queue {
namespace {

constexpr Time kHour = 3'600'000;

placement::Request gpus(unsigned count) {
    return {.gpus = static_cast<std::uint8_t>(count),
            .milli = count > 0 ? placement::kWholeGpu : 0};
}

placement::Request share(std::int32_t milli) { return {.gpus = 1, .milli = milli}; }

Planner planner_of(unsigned nodes, unsigned per_node, Options options = {}) {
    Planner planner(options);
    for (unsigned i = 0; i < nodes; ++i) {
        const auto added = planner.add_node({.name = "node-" + std::to_string(i),
                                             .devices = static_cast<std::uint8_t>(per_node),
                                             .model = "A100",
                                             .device_mib = 40'000});
        EXPECT_TRUE(added.ok());
    }
    return planner;
}

Job job_of(JobId id, unsigned count, Time expected, Time submitted = 0) {
    return {.id = id, .request = gpus(count), .submitted = submitted, .expected = expected};
}

void submit(Planner& planner, const Job& job) {
    const auto submitted = planner.submit(job, job.submitted);
    ASSERT_TRUE(submitted.ok()) << submitted.error().message;
}

std::vector<JobId> ids_of(const Plan& plan) {
    std::vector<JobId> ids;
    for (const Start& start : plan.starts) ids.push_back(start.id);
    return ids;
}

using Ids = std::vector<JobId>;

TEST(Planner, StartsWhatFitsAtOnceAndSaysWhere) {
    Planner planner = planner_of(1, 8);
    submit(planner, job_of(1, 2, kHour));
    submit(planner, job_of(2, 4, kHour));
    const Plan plan = planner.decide(0);
    EXPECT_EQ(ids_of(plan), (Ids{1, 2}));
    ASSERT_EQ(planner.where(2).size(), 1U);
    EXPECT_EQ(planner.where(2)[0].devices.size(), 4U);
    EXPECT_EQ(plan.starts[0].ends, kHour);
    EXPECT_TRUE(planner.decide(0).starts.empty());
    EXPECT_EQ(planner.self_check(), "");
}

// R72.
TEST(Planner, BackfillsWhatEndsBeforeTheReservationAndNothingElse) {
    Planner planner = planner_of(1, 8);
    submit(planner, job_of(1, 6, 10 * kHour));
    EXPECT_EQ(ids_of(planner.decide(0)), Ids{1});
    submit(planner, job_of(2, 8, kHour, 1));       // waits for job 1
    submit(planner, job_of(3, 2, 11 * kHour, 2));  // would delay job 2
    submit(planner, job_of(4, 2, 9 * kHour, 3));   // ends before
    const Plan plan = planner.decide(kHour / 2);
    EXPECT_EQ(ids_of(plan), Ids{4});
    ASSERT_FALSE(plan.reservations.empty());
    EXPECT_EQ(plan.reservations[0].id, 2U);
    EXPECT_EQ(plan.reservations[0].at, 10 * kHour);
    ASSERT_TRUE(planner.ended(4, 9 * kHour).ok());
    EXPECT_TRUE(planner.decide(9 * kHour + kHour / 2).starts.empty());
    ASSERT_TRUE(planner.ended(1, 10 * kHour).ok());
    EXPECT_EQ(ids_of(planner.decide(10 * kHour)), Ids{2});
    EXPECT_EQ(planner.self_check(), "");
}

TEST(Planner, SharesAndWholeGpusArePlacedOnTheSameBooks) {
    Planner planner = planner_of(1, 1);
    submit(planner, {.id = 1, .request = share(600), .expected = kHour});
    submit(planner, {.id = 2, .request = share(400), .expected = kHour});
    submit(planner, {.id = 3, .request = share(100), .expected = kHour});
    EXPECT_EQ(ids_of(planner.decide(0)), (Ids{1, 2}));
    ASSERT_TRUE(planner.ended(2, 1000).ok());
    EXPECT_EQ(ids_of(planner.decide(1000)), Ids{3});
}

// R71.
TEST(Planner, AGangStartsWholeOrNotAtAll) {
    Planner planner = planner_of(2, 4);
    Job gang = job_of(1, 3, kHour);
    gang.gang = 3;
    submit(planner, gang);
    gang.id = 2;
    gang.gang = 2;
    submit(planner, gang);
    EXPECT_EQ(ids_of(planner.decide(0)), Ids{2});
    EXPECT_EQ(planner.where(2).size(), 2U);
}

// R70.
TEST(Planner, QuotaHoldsAQueueAndItsCohortLendsWhatIsIdle) {
    Planner planner = planner_of(1, 8);
    ASSERT_TRUE(
        planner.set_queue({.name = "a", .cohort = "lab", .quota_milli = 2000, .borrow_milli = 1000})
            .ok());
    ASSERT_TRUE(planner.set_queue({.name = "b", .cohort = "lab", .quota_milli = 2000}).ok());
    for (JobId id = 1; id <= 4; ++id) {
        Job job = job_of(id, 1, kHour);
        job.queue = "a";
        submit(planner, job);
    }
    EXPECT_EQ(ids_of(planner.decide(0)), (Ids{1, 2, 3}));  // two of its own, one borrowed
    Job other = job_of(5, 2, kHour);
    other.queue = "b";
    submit(planner, other);
    EXPECT_TRUE(planner.decide(0).starts.empty());  // lent out
    ASSERT_TRUE(planner.ended(1, 1000).ok());
    EXPECT_EQ(ids_of(planner.decide(1000)), Ids{5});
}

// R70.
TEST(Planner, WhoUsedLessGoesFirst) {
    Planner planner = planner_of(1, 1);
    for (JobId id = 1; id <= 4; ++id) {
        Job job = job_of(id, 1, kHour, static_cast<Time>(id));
        job.user = id < 4 ? "ann" : "bob";
        submit(planner, job);
    }
    EXPECT_EQ(ids_of(planner.decide(10)), Ids{1});
    ASSERT_TRUE(planner.ended(1, kHour).ok());
    EXPECT_EQ(ids_of(planner.decide(kHour)), Ids{4});
}

TEST(Planner, WhatRunsAlreadyIsBookedWhereItRuns) {
    Planner planner = planner_of(1, 2);
    ASSERT_TRUE(planner.started(job_of(7, 1, kHour), {{.node = 0, .devices = {1}}}, 0, 5).ok());
    const auto taken = planner.started(job_of(8, 1, kHour), {{.node = 0, .devices = {1}}}, 0, 5);
    ASSERT_FALSE(taken.ok());
    EXPECT_EQ(taken.error().code, ErrorCode::kConflict);
    submit(planner, job_of(9, 1, kHour));
    const Plan plan = planner.decide(5);
    ASSERT_EQ(ids_of(plan), Ids{9});
    EXPECT_EQ(plan.starts[0].where[0].devices, std::vector<std::uint8_t>{0});
}

TEST(Planner, AJobQueuedAgainKeepsItsPlaceInOrder) {
    Planner planner = planner_of(1, 1);
    submit(planner, job_of(1, 1, kHour, 1));
    submit(planner, job_of(2, 1, kHour, 2));
    EXPECT_EQ(ids_of(planner.decide(2)), Ids{1});
    ASSERT_TRUE(planner.requeue(1, 10).ok());
    EXPECT_EQ(ids_of(planner.decide(10)), Ids{1});
    EXPECT_EQ(planner.waiting(), 1U);
    EXPECT_FALSE(planner.requeue(2, 11).ok());
    ASSERT_TRUE(planner.ended(2, 12, Outcome::kCancelled).ok());
    EXPECT_EQ(planner.waiting(), 0U);
    EXPECT_EQ(planner.self_check(), "");
}

TEST(Planner, WhatIsWrongIsSaidInOneLine) {
    Planner planner = planner_of(1, 1);
    submit(planner, job_of(1, 1, kHour));
    EXPECT_EQ(planner.submit(job_of(1, 1, kHour), 0).error().code, ErrorCode::kConflict);
    EXPECT_EQ(planner.submit(job_of(0, 1, kHour), 0).error().message, "job 0: 0 is not an id");
    EXPECT_EQ(planner.ended(5, 0).error().code, ErrorCode::kNotFound);
    Job wide = job_of(3, 1, kHour);
    wide.gang = 0;
    EXPECT_EQ(planner.submit(wide, 0).error().message, "job 3: gang of 0: expected 1 to 4096");
    EXPECT_FALSE(planner.set_queue({.name = "a", .quota_milli = -1}).ok());
}

}  // namespace
}  // namespace aliquot::queue
