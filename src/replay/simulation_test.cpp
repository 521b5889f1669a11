// SPDX-License-Identifier: Apache-2.0
#include "replay/simulation.h"

#include <gtest/gtest.h>

#include <map>

#include "replay/figures.h"

namespace aliquot::replay {
namespace {

using queue::Policy;

constexpr Time kSecond = 1'000;

Trace trace_of(const std::vector<std::array<Time, 3>>& rows) {  // submit, duration, GPUs
    Trace trace;
    for (const auto& row : rows)
        trace.jobs.push_back({.submit = row[0] * kSecond,
                              .duration = row[1] * kSecond,
                              .gpus = static_cast<unsigned>(row[2])});
    return trace;
}

std::vector<Time> starts(const Trace& trace, Policy policy, unsigned gpus, unsigned per_node = 8) {
    const auto played = play(trace, {.gpus = gpus,
                                     .per_node = per_node,
                                     .options = {.policy = policy},
                                     .estimates = Estimates::kExact});
    EXPECT_TRUE(played.ok()) << played.error().message;
    std::vector<Time> made;
    for (const JobRun& job : played->jobs) made.push_back(job.start / kSecond);
    return made;
}

using Times = std::vector<Time>;

// By hand, on 4 GPUs: job 1 takes 3 of them until 10; job 2 wants all; jobs 3 to 5 would fit beside job 1.
const Trace kBlocked = trace_of({{0, 10, 3}, {1, 5, 4}, {2, 20, 1}, {3, 6, 1}, {4, 1, 1}});

TEST(Simulation, FifoLetsNobodyPass) {
    EXPECT_EQ(starts(kBlocked, Policy::kFifo, 4), (Times{0, 10, 15, 15, 15}));
}

TEST(Simulation, BestEffortLetsThePassingStarveTheLarge) {
    // Jobs 3, 4 and 5 pass job 2, one after another: job 3 until 22, jobs 4 and 5 from 10 on.
    EXPECT_EQ(starts(kBlocked, Policy::kBestEffort, 4), (Times{0, 22, 2, 10, 10}));
}

TEST(Simulation, EasyPassesOnlyWithoutDelay) {
    // Job 3 would hold job 2 back until 22; job 4 ends at 9, job 5 at 10.
    EXPECT_EQ(starts(kBlocked, Policy::kEasy, 4), (Times{0, 10, 15, 3, 9}));
}

TEST(Simulation, OursTakesTheShortestFirst) {
    EXPECT_EQ(starts(kBlocked, Policy::kAliquot, 4), (Times{0, 10, 15, 3, 9}));
    // Both wait when a GPU becomes free at 5 for four seconds: the shorter goes.
    const Trace choice = trace_of({{0, 5, 1}, {0, 9, 3}, {1, 5, 4}, {2, 4, 1}, {3, 3, 1}});
    EXPECT_EQ(starts(choice, Policy::kEasy, 4), (Times{0, 0, 9, 5, 14}));
    EXPECT_EQ(starts(choice, Policy::kAliquot, 4), (Times{0, 0, 9, 14, 5}));
}

TEST(Simulation, SjfOrdersByRunTimeAndSrtfEndsTheLonger) {
    const Trace line = trace_of({{0, 10, 1}, {1, 8, 1}, {2, 2, 1}});
    EXPECT_EQ(starts(line, Policy::kSjf, 1), (Times{0, 12, 10}));
    const auto played = play(line, {.gpus = 1, .options = {.policy = Policy::kSrtf}});
    ASSERT_TRUE(played.ok());
    // Job 2 has less left at 1, job 3 at 2; then job 2 goes on from 4 to 11, job 1 from 11 to 20.
    EXPECT_EQ(played->jobs[2].start, 2 * kSecond);
    EXPECT_EQ(played->jobs[2].end, 4 * kSecond);
    EXPECT_EQ(played->jobs[1].end, 11 * kSecond);
    EXPECT_EQ(played->jobs[0].end, 20 * kSecond);
    EXPECT_EQ(played->jobs[0].preempted, 1U);
}

TEST(Simulation, QssfOrdersByGpuTime) {
    const Trace line = trace_of({{0, 10, 4}, {1, 6, 4}, {2, 8, 1}});
    EXPECT_EQ(starts(line, Policy::kQssf, 4), (Times{0, 18, 10}));
}

TEST(Simulation, WhatIsLargerThanTheClusterIsCountedAndLeftOut) {
    const auto played = play(trace_of({{0, 10, 9}, {0, 5, 8}}), {.gpus = 8});
    ASSERT_TRUE(played.ok());
    EXPECT_EQ(played->too_large, 1U);
    EXPECT_EQ(played->jobs[0].start, -1);
    EXPECT_EQ(played->jobs[1].end, 5 * kSecond);
    EXPECT_FALSE(play(trace_of({{0, 1, 1}}), {.gpus = 0}).ok());
    EXPECT_FALSE(play(trace_of({{0, 1, 1}}), {.gpus = 8, .per_node = 17}).ok());
}

Trace busy(std::uint64_t seed, std::size_t jobs = 400) {
    auto trace = synthetic({.jobs = jobs, .gpus = 24, .load = 1.1, .users = 4, .seed = seed});
    EXPECT_TRUE(trace.ok());
    return std::move(*trace);
}

/// Used milli over time never exceeds what there is, and what runs runs as long as it should.
void expect_sound(const Played& played) {
    std::map<Time, std::int64_t> change;
    for (const JobRun& job : played.jobs) {
        if (job.start < 0) continue;
        EXPECT_GE(job.start, job.submit);
        if (job.preempted > 0) continue;
        EXPECT_EQ(job.end - job.start, job.run);
        change[job.start] += job.milli;
        change[job.end] -= job.milli;
    }
    std::int64_t used = 0;
    for (const auto& [at, by] : change) {
        used += by;
        ASSERT_LE(used, played.capacity_milli) << "at " << at;
    }
    EXPECT_EQ(used, 0);
}

class EveryPolicy : public ::testing::TestWithParam<Policy> {};

TEST_P(EveryPolicy, NeverExceedsTheClusterAndEndsAllJobs) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        for (const Estimates estimates :
             {Estimates::kExact, Estimates::kHistory, Estimates::kPadded}) {
            const auto played = play(busy(seed), {.gpus = 24,
                                                  .options = {.policy = GetParam()},
                                                  .estimates = estimates,
                                                  .forecasts = 20});
            ASSERT_TRUE(played.ok()) << played.error().message;
            expect_sound(*played);
            EXPECT_EQ(figures_of(*played).unfinished, 0U);
        }
    }
}

TEST_P(EveryPolicy, PlaysTheSameTraceTheSameWay) {
    const Trace trace = busy(7);
    const replay::Setup setup{.gpus = 24,
                              .options = {.policy = GetParam()},
                              .estimates = Estimates::kHistory,
                              .forecasts = 20};
    const auto first = play(trace, setup);
    const auto again = play(trace, setup);
    ASSERT_TRUE(first.ok() && again.ok());
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
        EXPECT_EQ(first->jobs[i].start, again->jobs[i].start);
        ASSERT_EQ(first->jobs[i].told.size(), again->jobs[i].told.size());
        for (std::size_t told = 0; told < first->jobs[i].told.size(); ++told)
            EXPECT_EQ(first->jobs[i].told[told].p50, again->jobs[i].told[told].p50);
    }
}

// What people say, even three times too long, brings the likely start near; and it comes nearer while a job
// waits. In order of submission, where nobody that comes later goes before.
TEST(Simulation, LikelyStartsLearnHowMuchTooLongPeopleSay) {
    const auto played = play(busy(5, 1'000), {.gpus = 24,
                                              .options = {.policy = Policy::kFifo},
                                              .estimates = Estimates::kPadded,
                                              .padding = 3});
    ASSERT_TRUE(played.ok());
    const ForecastFigures told = figures_of(*played).forecast;
    EXPECT_GT(told.waited, 300U);
    EXPECT_LT(told.told[0].error_median, 0.35);
    EXPECT_LT(told.told[2].error_median, told.told[0].error_median);
    EXPECT_LE(told.error_median_with_others, told.told[0].error_median);
    for (const JobRun& job : played->jobs)
        for (std::size_t i = 1; i < job.told.size(); ++i)
            EXPECT_GE(job.told[i].at - job.submit, (job.told[i - 1].at - job.submit) * 5 / 4);
}

INSTANTIATE_TEST_SUITE_P(Simulation, EveryPolicy,
                         ::testing::Values(Policy::kFifo, Policy::kSjf, Policy::kSrtf,
                                           Policy::kQssf, Policy::kBestEffort, Policy::kEasy,
                                           Policy::kAliquot));

}  // namespace
}  // namespace aliquot::replay
