// SPDX-License-Identifier: Apache-2.0
#include "queue/survival.h"

#include <gtest/gtest.h>

#include <random>

namespace aliquot::queue {
namespace {

constexpr Time kHour = 3'600'000;

Job job(const char* name) {
    return {.id = 1, .name = name, .request = {.gpus = 1, .milli = 1'000}};
}

TEST(Survival, OfEndedRunsAloneIsTheirOwnDistribution) {
    RunTimes times;
    const auto key = times.key_of(job("a"));
    EXPECT_EQ(Survival(times).at(key, 0, 0.5), std::nullopt);
    EXPECT_EQ(Survival(times).mean(key, 0), std::nullopt);
    for (int hours = 1; hours <= 10; ++hours) times.learn(key, hours * kHour);
    Survival survival(times);
    EXPECT_EQ(survival.at(key, 0, 0), kHour);
    EXPECT_EQ(survival.at(key, 0, 0.45), 5 * kHour);
    EXPECT_EQ(survival.at(key, 0, 0.999), 10 * kHour);
    EXPECT_EQ(survival.mean(key, 0), 11 * kHour / 2);
    // Of those that took longer than 6 h: 7 to 10.
    EXPECT_EQ(survival.at(key, 6 * kHour, 0), 7 * kHour);
    EXPECT_EQ(survival.at(key, 6 * kHour, 0.99), 10 * kHour);
}

// A crowd that began at once, seen when about half of it has ended: its ended runs are the short ones.
TEST(Survival, RunningJobsCountForWhatTheyHaveLasted) {
    std::mt19937 random(3);
    std::exponential_distribution<double> length(1.0 / (10 * kHour));
    double wrong_alone = 0;
    double wrong = 0;
    for (int round = 0; round < 50; ++round) {
        RunTimes times;
        const auto key = times.key_of(job("a"));
        constexpr Time kSeen = 7 * kHour;
        int run_on = 0;
        for (int i = 0; i < 60; ++i) {
            const auto run = static_cast<Time>(length(random));
            if (run <= kSeen)
                times.learn(key, run);
            else
                ++run_on;
        }
        Survival alone(times);
        Survival survival(times);
        for (int i = 0; i < run_on; ++i) survival.add_running(key, kSeen);
        constexpr double kMedian = 0.6931 * 10 * kHour;
        // The median itself is seen at times only: 7 h is about there.
        const auto error = [&](Survival& one) {
            return std::abs(static_cast<double>(*one.at(key, 0, 0.4)) - 0.5108 * 10 * kHour) /
                   kMedian;
        };
        wrong_alone += error(alone);
        wrong += error(survival);
    }
    EXPECT_LT(wrong, 0.5 * wrong_alone);
}

TEST(Survival, WhatOutlastsAllIsNotSaidToEndNow) {
    RunTimes times;
    const auto key = times.key_of(job("a"));
    for (int i = 0; i < 5; ++i) times.learn(key, kHour);
    Survival survival(times);
    survival.add_running(key, 4 * kHour);
    EXPECT_GE(survival.at(key, 4 * kHour, 0.5), 8 * kHour);
    EXPECT_GE(survival.mean(key, 4 * kHour), 8 * kHour);
}

// A group of its own with three ended runs speaks for itself, running jobs of others do not count there.
TEST(Survival, KeepsGroupsApart) {
    RunTimes times;
    const auto brief = times.key_of(job("brief"));
    const auto lengthy = times.key_of(job("lengthy"));
    for (int i = 0; i < 4; ++i) {
        times.learn(brief, kHour);
        times.learn(lengthy, 20 * kHour);
    }
    Survival survival(times);
    for (int i = 0; i < 9; ++i) survival.add_running(lengthy, 10 * kHour);
    EXPECT_EQ(survival.mean(brief, 0), kHour);
    EXPECT_EQ(survival.at(lengthy, 0, 0.5), 20 * kHour);
}

}  // namespace
}  // namespace aliquot::queue
