// SPDX-License-Identifier: Apache-2.0
#include "scaling/recent_metrics.h"

#include <gtest/gtest.h>

#include "scaling/test_world.h"

namespace aliquot::scaling {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kQuarter = 250'000;
constexpr std::uint64_t kAll = 1'000'000;

std::optional<std::int64_t> of(const RecentMetrics& recent, Metric metric, const std::string& pod,
                               double seconds) {
    for (const Value& value : recent.pods(metric, "ns", after(seconds))) {
        if (value.subject.name == pod) return value.thousandths;
    }
    return std::nullopt;
}

/// Looks every ten seconds for two minutes; busy is the part of the time used until `change`, then
/// `later`.
void run(RecentMetrics& recent, double busy, double change = 1e9, double later = 0) {
    double used = 0;
    for (int second = 0; second <= 120; second += 10) {
        if (second > 0) used += 10 * (second <= change ? busy : later);
        recent.add(
            snapshot(second, {tenant("p", kQuarter, static_cast<std::uint64_t>(used * kSecond))}),
            after(second));
    }
}

TEST(RecentMetrics, AFullShareOfAQuarterIsAQuarterOfTheGpu) {
    RecentMetrics recent;
    run(recent, 0.25);
    EXPECT_EQ(of(recent, Metric::kUtilization, "p", 120), 25'000);
    EXPECT_EQ(of(recent, Metric::kShareUtilization, "p", 120), 100'000);
}

TEST(RecentMetrics, WhatIsTakenBeyondTheShareShows) {
    RecentMetrics recent;
    run(recent, 0.5);
    EXPECT_EQ(of(recent, Metric::kShareUtilization, "p", 120), 200'000);
}

TEST(RecentMetrics, AChangeIsSmoothedOverTheWindow) {
    RecentMetrics recent;
    run(recent, 0.8, 90, 0);  // half of the last minute
    EXPECT_EQ(of(recent, Metric::kUtilization, "p", 120), 40'000);
}

TEST(RecentMetrics, TheWindowEndsBetweenTwoSamples) {
    RecentMetrics recent;
    // 40 s apart: the window reaches back over half of the first step.
    recent.add(snapshot(0, {tenant("p", kAll, 0)}), after(0));
    recent.add(snapshot(40, {tenant("p", kAll, 40 * kSecond)}), after(40));
    recent.add(snapshot(80, {tenant("p", kAll, 40 * kSecond)}), after(80));
    EXPECT_EQ(of(recent, Metric::kUtilization, "p", 80), 33'333);
}

TEST(RecentMetrics, OneSampleTellsWhatTheAgentSaw) {
    RecentMetrics recent;
    recent.add(snapshot(0, {tenant("p", kQuarter, 7, 125'000)}), after(0));
    EXPECT_EQ(of(recent, Metric::kUtilization, "p", 1), 12'500);
    EXPECT_EQ(of(recent, Metric::kShareUtilization, "p", 1), 50'000);
}

TEST(RecentMetrics, WithoutCountersTheUtilizationIsSummedUp) {
    RecentMetrics recent;
    for (int i = 0; i <= 6; ++i) {
        recent.add(snapshot(i * 10, {tenant("p", kAll, std::nullopt, i <= 3 ? 900'000 : 300'000)}),
                   after(i * 10));
    }
    EXPECT_EQ(of(recent, Metric::kUtilization, "p", 60), 60'000);
}

TEST(RecentMetrics, AnIdlePodIsZeroAndAnUnknownOneIsAbsent) {
    RecentMetrics recent;
    for (int i = 0; i < 3; ++i) {
        recent.add(
            snapshot(i * 10, {tenant("idle", kAll, 0, 0), tenant("dark", kAll, std::nullopt)}),
            after(i * 10));
    }
    EXPECT_EQ(of(recent, Metric::kUtilization, "idle", 20), 0);
    EXPECT_EQ(of(recent, Metric::kUtilization, "dark", 20), std::nullopt);
    EXPECT_EQ(of(recent, Metric::kUtilization, "nobody", 20), std::nullopt);
}

TEST(RecentMetrics, ContainersAndGpusOfAPodAreOneValue) {
    RecentMetrics recent;
    for (int i = 0; i <= 2; ++i) {
        const auto used = static_cast<std::uint64_t>(i) * kSecond;
        telemetry::Tenant side = tenant("p", kQuarter, 2 * used);
        side.owner.container = "side";
        telemetry::Snapshot two = snapshot(i * 10, {tenant("p", kQuarter, 3 * used), side});
        telemetry::Snapshot other = snapshot(i * 10, {tenant("p", kAll, 10 * used)});
        other.devices[0].gpu.uuid.text = "GPU-other";
        two.devices.push_back(other.devices[0]);
        recent.add(two, after(i * 10));
    }
    // 0.3 + 0.2 of one GPU and all of another.
    EXPECT_EQ(of(recent, Metric::kUtilization, "p", 20), 75'000);
    EXPECT_EQ(of(recent, Metric::kShareUtilization, "p", 20), 100'000);
    EXPECT_EQ(recent.pods(Metric::kUtilization, "ns", after(20)).size(), 1U);
}

TEST(RecentMetrics, ACounterThatBeginsAnewIsNoNegativeUse) {
    RecentMetrics recent;
    recent.add(snapshot(0, {tenant("p", kAll, 500 * kSecond)}), after(0));
    recent.add(snapshot(10, {tenant("p", kAll, 505 * kSecond)}), after(10));
    recent.add(snapshot(20, {tenant("p", kAll, 5 * kSecond)}), after(20));
    EXPECT_EQ(of(recent, Metric::kUtilization, "p", 20), 50'000);
}

TEST(RecentMetrics, WhatIsOldIsNotTold) {
    RecentMetrics recent;
    recent.add(snapshot(0, {tenant("p", kAll, 0)}), after(0));
    EXPECT_TRUE(of(recent, Metric::kUtilization, "p", 60));
    EXPECT_FALSE(of(recent, Metric::kUtilization, "p", 61));
    recent.sweep(after(61));
    EXPECT_EQ(recent.size().pods, 0U);
    EXPECT_EQ(recent.size().nodes, 0U);
}

TEST(RecentMetrics, AnAgentThatLooksNoMoreGetsOldToo) {
    RecentMetrics recent;
    recent.add(snapshot(0, {tenant("p", kAll, 0)}), after(0));
    for (int i = 1; i < 8; ++i) {
        recent.add(snapshot(0, {tenant("p", kAll, 0)}), after(i * 10));
    }
    EXPECT_FALSE(of(recent, Metric::kUtilization, "p", 70));
}

TEST(RecentMetrics, AGpuThatDoesNotAnswerIsLeftOut) {
    RecentMetrics recent;
    telemetry::Snapshot hung = snapshot(100, {tenant("p", kAll, 0)});
    hung.devices[0].read_at = after(30);
    recent.add(hung, after(100));
    EXPECT_FALSE(of(recent, Metric::kUtilization, "p", 100));
    EXPECT_EQ(recent.size().pods, 0U);
}

TEST(RecentMetrics, AWrongClockOfANodeDoesNoHarm) {
    RecentMetrics recent;
    for (int i = 0; i <= 3; ++i) {
        recent.add(snapshot(1e6 + i * 10,
                            {tenant("p", kAll, static_cast<std::uint64_t>(i) * 5 * kSecond)}),
                   after(i * 10));
    }
    EXPECT_EQ(of(recent, Metric::kUtilization, "p", 30), 50'000);
    // Set right by its administrator.
    recent.add(snapshot(40, {tenant("p", kAll, 20 * kSecond, 700'000)}), after(40));
    EXPECT_EQ(of(recent, Metric::kUtilization, "p", 40), 70'000);
}

TEST(RecentMetrics, EndedTenantsAreNoPods) {
    RecentMetrics recent;
    telemetry::Tenant gone = tenant("p", kAll, 0);
    gone.ended = true;
    recent.add(snapshot(0, {gone}), after(0));
    EXPECT_EQ(recent.size().pods, 0U);
}

TEST(RecentMetrics, MemoryLimitsThrottlingAndIdleTime) {
    RecentMetrics recent;
    for (int i = 0; i <= 3; ++i) {
        telemetry::Tenant one = tenant("p", kAll, 0);
        one.amounts.memory_bytes = 3'000'000'000;
        one.amounts.power_milliwatts = 61'500;
        one.memory_limit_bytes = 4'000'000'000;
        one.throttled_ns = static_cast<std::uint64_t>(i) * 2 * kSecond;
        one.idle_ns = 7'500'000'000;
        recent.add(snapshot(i * 10, {one, tenant("free", kAll, 0)}), after(i * 10));
    }
    EXPECT_EQ(of(recent, Metric::kMemoryUsed, "p", 30), 3'000'000'000'000);
    EXPECT_EQ(of(recent, Metric::kMemoryLimitRatio, "p", 30), 750);
    EXPECT_EQ(of(recent, Metric::kThrottledRatio, "p", 30), 200);
    EXPECT_EQ(of(recent, Metric::kIdleSeconds, "p", 30), 7'500);
    EXPECT_EQ(of(recent, Metric::kPower, "p", 30), 61'500);
    for (const Metric metric : {Metric::kMemoryUsed, Metric::kMemoryLimitRatio,
                                Metric::kThrottledRatio, Metric::kIdleSeconds, Metric::kPower}) {
        EXPECT_FALSE(of(recent, metric, "free", 30));
    }
}

TEST(RecentMetrics, ANodeIsTheMeanOfItsGpus) {
    RecentMetrics recent;
    for (int i = 0; i <= 3; ++i) {
        telemetry::Snapshot two = snapshot(i * 10, {});
        two.devices[0].total.busy_ns = static_cast<std::uint64_t>(i) * 10 * kSecond;
        two.devices.push_back(two.devices[0]);
        two.devices[1].gpu.uuid.text = "GPU-other";
        two.devices[1].total.busy_ns = 0;
        recent.add(two, after(i * 10));
    }
    EXPECT_EQ(recent.node(Metric::kUtilization, "node-1", after(30))->thousandths, 50'000);
    EXPECT_FALSE(recent.node(Metric::kUtilization, "node-2", after(30)));
}

TEST(RecentMetrics, HasALimit) {
    RecentMetrics recent({.most_pods = 2});
    recent.add(snapshot(0, {tenant("a", kAll, 0), tenant("b", kAll, 0), tenant("c", kAll, 0)}),
               after(0));
    EXPECT_EQ(recent.size().pods, 2U);
}

}  // namespace
}  // namespace aliquot::scaling
