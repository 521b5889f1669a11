// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_events.h"

#include <gtest/gtest.h>

namespace aliquot::agent {
namespace {

TEST(GuardEvents, TheLastOnesAreKeptOldestFirst) {
    GuardEvents events;
    for (std::size_t i = 0; i < GuardEvents::kMost + 3; ++i) {
        events.note({.kind = GuardEvent::Kind::kOverLimit, .message = std::to_string(i)});
    }
    const auto kept = events.list();
    ASSERT_EQ(kept.size(), GuardEvents::kMost);
    EXPECT_EQ(kept.front().message, "3");
    EXPECT_EQ(kept.back().message, std::to_string(GuardEvents::kMost + 2));
    EXPECT_NE(kept.back().at, std::chrono::system_clock::time_point{});
}

}  // namespace
}  // namespace aliquot::agent
