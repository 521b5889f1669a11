// SPDX-License-Identifier: Apache-2.0
#include "nvml/silence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::nvml {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::chrono::steady_clock::time_point at(int second) {
    return std::chrono::steady_clock::time_point(std::chrono::seconds(second));
}

TEST(Silence, IsNobodysWhereAllAnswer) { EXPECT_THAT(silent_by_themselves({}, at(5)), IsEmpty()); }

TEST(Silence, IsTheFirstGpusWhereNothingElseAnswers) {
    EXPECT_THAT(silent_by_themselves({{0, at(12)}, {1, at(10)}, {2, at(11)}}, at(9)),
                ElementsAre(1));
}

TEST(Silence, IsEachGpusWhereSomethingElseAnswers) {
    EXPECT_THAT(silent_by_themselves({{0, at(12)}, {1, at(10)}}, at(13)), ElementsAre(0, 1));
}

TEST(Silence, OfALaterOneIsItsOwnWhereTheFirstKeptNobodyWaiting) {
    // 1 hung at 10, others answered at 20, then 0 began to hang: 1 holds no lock.
    EXPECT_THAT(silent_by_themselves({{0, at(30)}, {1, at(10)}}, at(20)), ElementsAre(0, 1));
    EXPECT_THAT(silent_by_themselves({{0, at(30)}, {1, at(10)}, {2, at(31)}}, at(20)),
                ElementsAre(0, 1));
}

}  // namespace
}  // namespace aliquot::nvml
