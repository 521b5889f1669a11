// SPDX-License-Identifier: Apache-2.0
#include "jobs/state.h"

#include <gtest/gtest.h>

namespace aliquot::jobs {
namespace {

TEST(JobState, HasAWordThatNamesItAlone) {
    for (const State state : kStates) EXPECT_EQ(state_of(word(state)), state) << word(state);
    EXPECT_EQ(kStates.size(), 14U);
    EXPECT_EQ(word(State::kExpired), "Expired");
    EXPECT_FALSE(state_of("running"));
    EXPECT_FALSE(state_of(""));
}

// R76.
TEST(JobState, IsReachedFromADraftAndLeadsToAnEnd) {
    std::array<bool, 14> reached{true};
    for (std::size_t round = 0; round < kStates.size(); ++round) {
        for (const State from : kStates) {
            for (const State to : kStates) {
                if (reached[static_cast<std::size_t>(from)] && may_follow(from, to)) {
                    reached[static_cast<std::size_t>(to)] = true;
                }
            }
        }
    }
    for (const State state : kStates) {
        EXPECT_TRUE(reached[static_cast<std::size_t>(state)]) << word(state);
        EXPECT_FALSE(may_follow(state, state)) << word(state);
        EXPECT_TRUE(is_final(state) || may_follow(state, State::kCancelled)) << word(state);
    }
}

TEST(JobState, FollowsAnEndOnlyAsAnotherTry) {
    for (const State from : kStates) {
        for (const State to : kStates) {
            if (!is_final(from)) continue;
            const bool may = to == State::kRequeued && from != State::kSucceeded;
            EXPECT_EQ(may_follow(from, to), may) << word(from) << " to " << word(to);
        }
    }
}

TEST(JobState, NeverRunsWithoutHavingBeenStarted) {
    for (const State from : kStates) {
        EXPECT_EQ(may_follow(from, State::kRunning), from == State::kStarting) << word(from);
    }
}

}  // namespace
}  // namespace aliquot::jobs
