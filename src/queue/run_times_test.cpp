// SPDX-License-Identifier: Apache-2.0
#include "queue/run_times.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "queue/planner.h"

namespace aliquot::queue {
namespace {

constexpr Time kHour = 3'600'000;

Job job(const char* name) {
    return {.id = 1, .name = name, .request = {.gpus = 1, .milli = 1'000}};
}

TEST(RunTimes, LearnWhichPartOfWhatWasSaidIsUsed) {
    RunTimes times;
    const auto key = times.key_of(job("a"));
    EXPECT_EQ(times.of_declared(key, kHour, 0).p50, 0);
    EXPECT_EQ(times.of_declared_at(key, kHour, 0, 0.5), 0);
    for (int hours = 1; hours <= 9; ++hours) times.learn(key, hours * kHour, 2 * hours * kHour);
    EXPECT_EQ(times.of_declared(key, 7 * kHour, 0).p50, 7 * kHour / 2);
    const Time mean = times.of_declared(key, 7 * kHour, 0).mean;  // of rounded parts
    EXPECT_LE(std::abs(mean - 7 * kHour / 2), 1'000);
    EXPECT_EQ(times.of_declared_at(key, 7 * kHour, 0, 0.99), 7 * kHour / 2);
    // It has outlasted all: nobody knows.
    EXPECT_EQ(times.of_declared(key, 7 * kHour, 4 * kHour).p50, 0);
    // What was said of one name speaks for another that nothing is known of.
    EXPECT_EQ(times.of_declared(times.key_of(job("b")), kHour, 0).p50, kHour / 2);
    // Runs of which nothing was said are no parts.
    for (int i = 0; i < 64; ++i) times.learn(key, 100 * kHour);
    EXPECT_EQ(times.of_declared(key, 7 * kHour, 0).p50, 7 * kHour / 2);
    EXPECT_EQ(times.estimate(key, 0).p50, 100 * kHour);
}

TEST(RunTimes, StayInRangeForAnyTimes) {
    RunTimes times;
    const auto key = times.key_of(job("a"));
    for (int i = 0; i < 3; ++i) times.learn(key, kLatest, 1);
    const Estimate said = times.of_declared(key, kLatest, 0);
    EXPECT_GT(said.p50, 0);
    EXPECT_LE(said.p90, kLatest);
}

/// One GPU; jobs run one after the other, and the last is asked for while one runs and one waits.
Time wait_after(const std::vector<std::pair<Time, Time>>& runs_and_limits, Time running_limit) {
    Planner planner;
    EXPECT_TRUE(
        planner.add_node({.name = "n", .devices = 1, .model = "A100", .device_mib = 1}).ok());
    Time now = 0;
    JobId id = 0;
    const auto submit = [&](Time limit) {
        EXPECT_TRUE(planner
                        .submit({.id = ++id,
                                 .name = "train",
                                 .request = {.gpus = 1, .milli = 1'000},
                                 .submitted = now,
                                 .limit = limit},
                                now)
                        .ok());
    };
    for (const auto& [run, limit] : runs_and_limits) {
        submit(limit);
        EXPECT_EQ(planner.decide(now).starts.size(), 1U);
        now += run;
        EXPECT_TRUE(planner.ended(id, now).ok());
    }
    submit(running_limit);
    planner.decide(now);
    submit(kHour);
    const auto etas = planner.forecast(now);
    return etas.size() == 1 ? etas[0].p50 - now : -1;
}

// Nothing is known yet, but that nobody runs longer than its limit.
TEST(Forecast, NoLateStartIsBeyondWhatLimitsAllow) {
    Planner planner;
    EXPECT_TRUE(
        planner.add_node({.name = "n", .devices = 1, .model = "A100", .device_mib = 1}).ok());
    const auto submit = [&](JobId id, Time limit) {
        EXPECT_TRUE(planner
                        .submit({.id = id,
                                 .name = "train",
                                 .request = {.gpus = 1, .milli = 1'000},
                                 .limit = limit},
                                0)
                        .ok());
    };
    submit(1, 24 * kHour);
    planner.decide(0);
    submit(2, 24 * kHour);
    submit(3, 24 * kHour);
    const auto etas = planner.forecast(4 * kHour);
    ASSERT_EQ(etas.size(), 2U);
    EXPECT_EQ(etas[0].p90, 24 * kHour);
    EXPECT_EQ(etas[1].p90, 48 * kHour);
    // One without a limit may run for ever.
    submit(4, 0);
    EXPECT_GT(planner.forecast(4 * kHour)[0].p90, 24 * kHour);
}

TEST(Forecast, GoesByLimitsWhereTheyTellMoreThanHistory) {
    std::vector<std::pair<Time, Time>> runs;
    for (int i = 0; i < 60; ++i) {
        const Time run = i % 2 == 0 ? kHour : 30 * kHour;
        runs.emplace_back(run, 2 * run);
    }
    EXPECT_EQ(wait_after(runs, 2 * kHour), kHour);
    EXPECT_EQ(wait_after(runs, 60 * kHour), 30 * kHour);
    // One limit for all, as where nobody names one, says nothing.
    for (auto& [run, limit] : runs) {
        run = 3 * kHour;
        limit = 24 * kHour;
    }
    EXPECT_EQ(wait_after(runs, 24 * kHour), 3 * kHour);
    // And no run is thought to be longer than its limit.
    EXPECT_EQ(wait_after(runs, 2 * kHour), 2 * kHour);
}

}  // namespace
}  // namespace aliquot::queue
