// SPDX-License-Identifier: Apache-2.0
#include "guard_region/watchdog.h"

#include <gtest/gtest.h>

namespace aliquot::guard_region {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kLimit = 1000 * kMiB;
const std::vector<std::uint64_t> kLimits{kLimit};

Held held(pid_t pid, std::uint64_t bytes, std::optional<unsigned> slot) {
    return {.process = {.pid = pid, .start_ticks = static_cast<std::uint64_t>(pid)},
            .bytes = bytes,
            .slot = slot};
}

Reading reading(std::vector<Held> processes) {
    Reading result;
    result.ledger.emplace();
    result.devices = {{.uuid = "GPU-1", .answered = true, .held = std::move(processes)}};
    return result;
}

TEST(Watchdog, TellsOnceOfAProcessThatHasNotJoined) {
    Watchdog watchdog(WatchdogPolicy::kReport, {});
    const Reading look = reading({held(1, 10, 0), held(2, 20, std::nullopt)});
    EXPECT_TRUE(watchdog.look("r", look, kLimits).empty());
    EXPECT_TRUE(watchdog.look("r", look, kLimits).empty());
    const auto alarms = watchdog.look("r", look, kLimits);
    ASSERT_EQ(alarms.size(), 1U);
    EXPECT_EQ(alarms[0].kind, Alarm::Kind::kUnguarded);
    EXPECT_EQ(alarms[0].process->pid, 2);
    EXPECT_FALSE(alarms[0].kill);
    EXPECT_TRUE(watchdog.look("r", look, kLimits).empty());
}

TEST(Watchdog, ForgetsAProcessThatHasJoinedMeanwhile) {
    Watchdog watchdog(WatchdogPolicy::kReport, {});
    const Reading before = reading({held(2, 20, std::nullopt)});
    const Reading joined = reading({held(2, 20, 1)});
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(watchdog.look("r", before, kLimits).empty());
        EXPECT_TRUE(watchdog.look("r", before, kLimits).empty());
        EXPECT_TRUE(watchdog.look("r", joined, kLimits).empty());
    }
}

TEST(Watchdog, KillsOneUnguardedProcessPerLook) {
    Watchdog watchdog(WatchdogPolicy::kKill, {});
    const Reading look = reading({held(1, 10, std::nullopt), held(2, 20, std::nullopt)});
    watchdog.look("r", look, kLimits);
    watchdog.look("r", look, kLimits);
    const auto alarms = watchdog.look("r", look, kLimits);
    ASSERT_EQ(alarms.size(), 2U);
    EXPECT_TRUE(alarms[0].kill);
    EXPECT_FALSE(alarms[1].kill);
}

TEST(Watchdog, BearsWhatIsWithinTheSlack) {
    Watchdog watchdog(WatchdogPolicy::kKill, {});
    const Reading look = reading({held(1, kLimit + 256 * kMiB, 0)});
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(watchdog.look("r", look, kLimits).empty());
    EXPECT_EQ(Slack{.percent = 5}.of(kLimit), 50 * kMiB);
    EXPECT_EQ(Slack{.bytes = 7}.of(kLimit), 7U);
    EXPECT_EQ(Slack{}.of(100 * kLimit), 5 * kLimit);
}

TEST(Watchdog, EndsTheYoungestOfAContainerThatHoldsTooMuch) {
    Watchdog watchdog(WatchdogPolicy::kKill, {.percent = 0});
    const Reading look = reading({held(7, kLimit, 0), held(9, 5, 1), held(8, 5, 2)});
    EXPECT_TRUE(watchdog.look("r", look, kLimits).empty());
    EXPECT_TRUE(watchdog.look("r", look, kLimits).empty());
    const auto alarms = watchdog.look("r", look, kLimits);
    ASSERT_EQ(alarms.size(), 1U);
    EXPECT_EQ(alarms[0].kind, Alarm::Kind::kOverLimit);
    EXPECT_EQ(alarms[0].held_bytes, kLimit + 10);
    EXPECT_EQ(alarms[0].process->pid, 9);
    EXPECT_TRUE(alarms[0].kill);
    EXPECT_TRUE(watchdog.look("r", look, kLimits).empty());  // it has time to give back
}

TEST(Watchdog, ComparesSumsAlsoWhereTheLedgerIsDamaged) {
    Watchdog watchdog(WatchdogPolicy::kReport, {.percent = 0});
    Reading look = reading({held(7, kLimit + 1, std::nullopt)});
    look.ledger.reset();
    watchdog.look("r", look, kLimits);
    watchdog.look("r", look, kLimits);
    const auto alarms = watchdog.look("r", look, kLimits);
    ASSERT_EQ(alarms.size(), 2U);
    EXPECT_EQ(alarms[0].kind, Alarm::Kind::kLedger);
    EXPECT_EQ(alarms[1].kind, Alarm::Kind::kOverLimit);
}

TEST(Watchdog, ADriverThatDoesNotAnswerProvesNothing) {
    Watchdog watchdog(WatchdogPolicy::kKill, {});
    const Reading look = reading({held(2, 20, std::nullopt)});
    Reading silent = reading({});
    silent.devices[0].answered = false;
    EXPECT_TRUE(watchdog.look("r", look, kLimits).empty());
    EXPECT_TRUE(watchdog.look("r", silent, kLimits).empty());
    EXPECT_TRUE(watchdog.look("r", look, kLimits).empty());
    EXPECT_EQ(watchdog.look("r", look, kLimits).size(), 1U);
    watchdog.forget("r");
    EXPECT_TRUE(watchdog.look("r", look, kLimits).empty());
}

}  // namespace
}  // namespace aliquot::guard_region
