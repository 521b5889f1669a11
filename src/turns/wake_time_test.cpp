// SPDX-License-Identifier: Apache-2.0
#include "turns/wake_time.h"

#include <gtest/gtest.h>

namespace aliquot::turns {
namespace {

constexpr std::uint64_t kUs = 1000;

void note(WakeTime& wakes, std::uint64_t late_us, unsigned times) {
    for (unsigned i = 0; i < times; ++i) wakes.note(late_us * kUs);
}

TEST(WakeTime, IsNothingBeforeTheFirstSleep) { EXPECT_EQ(WakeTime().usual_ns(), 0U); }

TEST(WakeTime, FollowsTheMachineUpAndDown) {
    WakeTime wakes;
    note(wakes, 400, 50);
    EXPECT_NEAR(static_cast<double>(wakes.usual_ns()), 400e3, 5e3);
    note(wakes, 10, 200);
    EXPECT_NEAR(static_cast<double>(wakes.usual_ns()), 10e3, 5e3);
}

TEST(WakeTime, IsAboveMostSleepsWhereTheyDiffer) {
    WakeTime wakes;
    for (unsigned i = 0; i < 400; ++i) wakes.note((i % 4 == 0 ? 300 : 20) * kUs);
    EXPECT_GT(wakes.usual_ns(), 100 * kUs);
    EXPECT_LT(wakes.usual_ns(), 300 * kUs);
}

TEST(WakeTime, OneSleepOfHoursSaysLittle) {
    WakeTime wakes;
    note(wakes, 20, 100);
    wakes.note(3'600'000'000'000);
    EXPECT_LE(wakes.usual_ns(), WakeTime::kMost / 4 + 20 * kUs);
    note(wakes, 20, 100);
    EXPECT_LT(wakes.usual_ns(), 30 * kUs);
}

}  // namespace
}  // namespace aliquot::turns
