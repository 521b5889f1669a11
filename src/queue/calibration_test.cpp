// SPDX-License-Identifier: Apache-2.0
#include "queue/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace aliquot::queue {
namespace {

constexpr Time kHour = 3'600'000;
constexpr std::int64_t kOneGpu = 1'000;

TEST(Calibration, SaysALateStartGenerouslyBeforeAnythingIsKnown) {
    const Calibration calibration;
    const Time late = calibration.late(kOneGpu, kHour);
    EXPECT_GT(late, 6 * kHour);
    EXPECT_LT(late, 7 * kHour);
}

// Waits that take ever longer than was foreseen, as in a queue that grows.
TEST(Calibration, KeepsNineOfTenLateStartsThoughWaitsGrow) {
    Calibration calibration;
    std::mt19937 random(7);
    std::lognormal_distribution<double> noise(0, 0.5);
    constexpr int kJobs = 4'000;
    int held = 0;
    for (int i = 0; i < kJobs; ++i) {
        const double growth = 1 + 3.0 * i / kJobs;
        const auto real = static_cast<Time>(noise(random) * growth * kHour);
        const bool in_time = real <= calibration.late(kOneGpu, kHour);
        calibration.judge(kOneGpu, in_time);
        calibration.learn(kOneGpu, kHour, real);
        held += in_time ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(held) / kJobs, 0.9, 0.02);
}

TEST(Calibration, ComesDownAgainWhereEachLateStartHolds) {
    Calibration calibration;
    for (int i = 0; i < 1'000; ++i) {
        calibration.judge(kOneGpu, true);
        calibration.learn(kOneGpu, kHour, kHour);
    }
    EXPECT_LE(calibration.late(kOneGpu, kHour), kHour);
}

}  // namespace
}  // namespace aliquot::queue
