// SPDX-License-Identifier: Apache-2.0
#include "os/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace aliquot::os {
namespace {

using namespace std::chrono_literals;

TEST(ManualClock, WakesASleeperWhenItsTimeHasCome) {
    ManualClock clock;
    bool woke = false;
    const TimePoint end = clock.now() + 10s;
    std::jthread sleeper([&](std::stop_token stop) { woke = clock.sleep_until(end, stop); });
    clock.advance(4s);
    clock.advance(6s);
    sleeper.join();
    EXPECT_TRUE(woke);
}

TEST(SystemClock, ASleepEndsWithAStop) {
    SystemClock clock;
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(clock.sleep_for(1h, stop.get_token()));
}

}  // namespace
}  // namespace aliquot::os
