// SPDX-License-Identifier: Apache-2.0
#include "base/latest.h"

#include <gtest/gtest.h>

#include <thread>

namespace aliquot {
namespace {

using namespace std::chrono_literals;

TEST(Latest, IsEmptyUntilPublished) {
    const Latest<int> latest;
    EXPECT_EQ(latest.get().value, nullptr);
    EXPECT_EQ(latest.get().version, 0U);
}

TEST(Latest, WakesAWaiterWithTheNewValue) {
    Latest<int> latest;
    std::jthread writer([&] { latest.publish(7); });
    const auto seen = latest.wait_newer(0, 5s);
    ASSERT_NE(seen.value, nullptr);
    EXPECT_EQ(*seen.value, 7);
    EXPECT_EQ(seen.version, 1U);
}

TEST(Latest, StopsWaitingWhenToldTo) {
    const Latest<int> latest;
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(latest.wait_newer(0, 1h, stop.get_token()).version, 0U);
}

}  // namespace
}  // namespace aliquot
