// SPDX-License-Identifier: Apache-2.0
#include "job_server/idleness.h"

#include <gtest/gtest.h>

namespace aliquot::job_server {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kSecond = 1'000'000;  // in microseconds
constexpr seconds kLook{15};

cost::Use use(std::uint64_t busy_ms, std::uint64_t measured_s = 15) {
    return {.busy_us = busy_ms * 1'000, .measured_us = measured_s * kSecond};
}

pid_t nobody(std::uint32_t /*pid*/) { return 0; }

Seen seen(const Watched& job, const UseLook& look) { return seen_of(job, look, kLook, 5, nobody); }

TEST(Idleness, OfWholeGpusAllMustBeIdle) {
    const Watched job{.job = 1, .devices = {"A", "B"}};
    EXPECT_EQ(seen(job, {.devices = {{"A", use(0)}, {"B", use(700)}}}), Seen::kIdle);
    EXPECT_EQ(seen(job, {.devices = {{"A", use(0)}, {"B", use(800)}}}), Seen::kUsed);
    EXPECT_EQ(seen(job, {.devices = {{"A", use(0)}}}), Seen::kUnknown);
    EXPECT_EQ(seen(job, {.devices = {{"A", use(800)}}}), Seen::kUsed);
    EXPECT_EQ(seen({.job = 1}, {}), Seen::kUnknown);
}

TEST(Idleness, WhatWasMeasuredForLessThanHalfTheTimeIsUnknownUnlessItWasBusy) {
    const Watched job{.job = 1, .devices = {"A"}};
    EXPECT_EQ(seen(job, {.devices = {{"A", use(0, 0)}}}), Seen::kUnknown);
    EXPECT_EQ(seen(job, {.devices = {{"A", use(0, 7)}}}), Seen::kUnknown);
    EXPECT_EQ(seen(job, {.devices = {{"A", use(0, 8)}}}), Seen::kIdle);
    EXPECT_EQ(seen(job, {.devices = {{"A", use(900, 2)}}}), Seen::kUsed);
}

TEST(Idleness, AVideoDecoderAtWorkIsUse) {
    const Watched job{.job = 1, .devices = {"A"}};
    UseLook look{.devices = {{"A", use(0)}}};
    look.media_percent["A"] = 30;
    EXPECT_EQ(seen(job, look), Seen::kUsed);
}

/// Two shares on one GPU, of runners 10 and 20, and a process of nobody's.
class SharedIdleness : public testing::Test {
protected:
    static pid_t runner_of(std::uint32_t pid) { return pid < 100 ? 0 : pid < 200 ? 10 : 20; }
    Seen of(pid_t runner, std::uint32_t compute = 0) const {
        return seen_of({.job = 1,
                        .runner = runner,
                        .devices = {"A"},
                        .is_share = true,
                        .compute_percent = compute},
                       look_, kLook, 5, runner_of);
    }
    void runs(std::uint32_t pid, std::uint64_t busy_ms, unsigned media = 0) {
        look_.processes.push_back(
            {.pid = pid, .device = "A", .use = use(busy_ms), .media_percent = media});
    }
    UseLook look_{.devices = {{"A", use(6'000)}}, .processes = {}, .told_apart = {"A"}};
};

TEST_F(SharedIdleness, OnlyTheOneThatDoesNothingIsIdle) {
    runs(101, 6'000);
    runs(201, 100);
    EXPECT_EQ(of(10), Seen::kUsed);
    EXPECT_EQ(of(20), Seen::kIdle);
}

TEST_F(SharedIdleness, WhatNoJobIsKnownToHaveDoneMayBeEachOnes) {
    runs(101, 5'000);
    runs(50, 1'000);
    EXPECT_EQ(of(20), Seen::kUsed);
}

TEST_F(SharedIdleness, IsUnknownWhereProcessesAreNotToldApartOrHaveGone) {
    runs(101, 5'000);
    EXPECT_EQ(of(20), Seen::kUnknown);  // a second of use is of a process that is in no list
    look_.processes.front().use = use(6'000);
    EXPECT_EQ(of(20), Seen::kIdle);
    look_.told_apart.clear();
    EXPECT_EQ(of(20), Seen::kUnknown);
    look_.devices["A"] = use(100);
    EXPECT_EQ(of(20), Seen::kIdle);  // nobody uses it, so neither does this one
}

TEST_F(SharedIdleness, ASmallShareIsMeasuredByWhatItMayUse) {
    runs(101, 5'600);
    runs(201, 400);  // 2.7 % of the GPU
    EXPECT_EQ(of(20), Seen::kIdle);
    EXPECT_EQ(of(20, 10), Seen::kUsed);
}

TEST_F(SharedIdleness, ADecoderOfAnotherJobIsNotItsOwn) {
    runs(101, 6'000, 60);
    runs(201, 0);
    look_.media_percent["A"] = 60;
    EXPECT_EQ(of(20), Seen::kIdle);
    look_.processes.back().media_percent = 60;
    EXPECT_EQ(of(20), Seen::kUsed);
}

TEST(IdleStretch, GrowsByIdleLooksAndEndsWithAUse) {
    IdleStretch stretch{.job = 1, .attempt = 1};
    stretch = with_look(stretch, Seen::kUnknown, 1'000);
    EXPECT_EQ(stretch.since, 0);
    stretch = with_look(stretch, Seen::kIdle, 16'000);
    stretch = with_look(stretch, Seen::kUnknown, 31'000);
    stretch = with_look(stretch, Seen::kIdle, 46'000);
    EXPECT_EQ(stretch.since, 16'000);
    EXPECT_EQ(stretch.until, 46'000);
    stretch.told = 46'000;
    stretch = with_look(stretch, Seen::kUsed, 61'000);
    EXPECT_EQ(stretch.since, 0);
    EXPECT_EQ(stretch.told, 0);
}

TEST(IdleStretch, BeginsAnewAfterATimeThatNobodySaw) {
    const IdleStretch long_idle{
        .job = 1, .attempt = 1, .since = 1'000, .until = 900'000, .told = 9};
    const TimeMs back = 900'000 + kLongestBlind;
    EXPECT_EQ(with_look(long_idle, Seen::kIdle, back).since, 1'000);
    EXPECT_EQ(with_look(long_idle, Seen::kIdle, back + 1).since, back + 1);
    EXPECT_EQ(with_look(long_idle, Seen::kIdle, back + 1).told, 0);
    EXPECT_EQ(with_look(long_idle, Seen::kUnknown, back + 1).since, 0);
    // A clock that was set back.
    EXPECT_EQ(with_look(long_idle, Seen::kIdle, 800'000).since, 800'000);
}

TEST(IdleStretch, IsToldFirstAndEndedAfterTheGraceIfThePolicySaysSo) {
    const IdleRule rule{.after = 60'000, .ends = true};
    IdleStretch stretch{.job = 1, .attempt = 1, .since = 10'000, .until = 69'999};
    EXPECT_EQ(step_of(stretch, rule, 30'000, 69'999), IdleStep::kNone);
    stretch.until = 70'000;
    EXPECT_EQ(step_of(stretch, rule, 30'000, 70'000), IdleStep::kTell);
    stretch.told = 70'000;
    stretch.until = 99'999;
    EXPECT_EQ(step_of(stretch, rule, 30'000, 99'999), IdleStep::kNone);
    stretch.until = 100'000;
    EXPECT_EQ(step_of(stretch, rule, 30'000, 100'000), IdleStep::kEnd);
    EXPECT_EQ(step_of(stretch, {.after = 60'000}, 30'000, 100'000), IdleStep::kNone);
    EXPECT_EQ(step_of(stretch, {}, 30'000, 100'000), IdleStep::kNone);
    // What this look did not see is not acted on.
    EXPECT_EQ(step_of(stretch, rule, 30'000, 115'000), IdleStep::kNone);
}

TEST(IdleRule, OfAJobGoesBeforeTheServers) {
    IdlePolicy policy;
    jobs::Request request;
    EXPECT_EQ(rule_of(policy, request).after, 0);
    policy.after = 1'800'000;
    EXPECT_EQ(rule_of(policy, request).after, 1'800'000);
    EXPECT_FALSE(rule_of(policy, request).ends);
    request.idle_after_seconds = 7'200;
    EXPECT_EQ(rule_of(policy, request).after, 7'200'000);
    EXPECT_TRUE(rule_of(policy, request).ends);
}

TEST(IdleWords, SayUseAndTime) {
    EXPECT_EQ(idle_words(5, 30 * 60'000), "GPU use below 5 % for 30m");
    EXPECT_EQ(idle_words(10, 45'000), "GPU use below 10 % for 45s");
}

}  // namespace
}  // namespace aliquot::job_server
