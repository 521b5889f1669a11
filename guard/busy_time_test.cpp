// SPDX-License-Identifier: Apache-2.0
#include "guard/busy_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace aliquot::guard {
namespace {

TEST(BusyTime, CountsWorkThatRunsAtOnceOnce) {
    BusyTime busy;
    EXPECT_EQ(busy.add(100, 200), 100U);
    EXPECT_EQ(busy.add(150, 250), 50U);
    EXPECT_EQ(busy.add(120, 180), 0U);
    EXPECT_EQ(busy.add(50, 300), 100U);
}

TEST(BusyTime, CountsNoTimeBetweenPieces) {
    BusyTime busy;
    EXPECT_EQ(busy.add(100, 200), 100U);
    EXPECT_EQ(busy.add(1000, 1100), 100U);
    EXPECT_EQ(busy.add(150, 1050), 800U);
}

TEST(BusyTime, AnIntervalWithoutLengthIsNone) {
    BusyTime busy;
    EXPECT_EQ(busy.add(100, 100), 0U);
    EXPECT_EQ(busy.add(100, 90), 0U);
    EXPECT_EQ(busy.add(90, 110), 20U);
}

TEST(BusyTime, LongWorkBesideShortCountsWholeWhateverTheOrder) {
    BusyTime busy;
    std::uint64_t counted = 0;
    for (std::uint64_t at = 0; at < 20'000; at += 1000) counted += busy.add(at, at + 100);
    counted += busy.add(0, 20'000);
    EXPECT_EQ(counted, 20'000U);
}

TEST(BusyTime, IsTheUnionForAnyIntervals) {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        BusyTime busy;
        std::vector<bool> there(1000, false);
        for (int i = 0; i < 30; ++i) {
            const std::uint64_t begin = random() % 900;
            const std::uint64_t end = begin + random() % 100;
            std::uint64_t fresh = 0;
            for (std::uint64_t at = begin; at < end; ++at) {
                if (!there[at]) ++fresh;
                there[at] = true;
            }
            ASSERT_EQ(busy.add(begin, end), fresh) << "round " << round << " interval " << i;
        }
    }
}

TEST(BusyTime, WithTooManyPiecesOnlyTheOldestGapIsLost) {
    BusyTime busy;
    for (std::uint64_t i = 0; i < 500; ++i) EXPECT_EQ(busy.add(i * 10, i * 10 + 5), 5U);
    EXPECT_EQ(busy.add(4995, 5000), 5U);  // the newest gap is still there
    EXPECT_EQ(busy.add(4985, 4990), 5U);
    EXPECT_EQ(busy.add(5, 10), 0U);  // the oldest is not
}

TEST(BusyTime, ForgetsOnlyWhatEndedBefore) {
    BusyTime busy;
    EXPECT_EQ(busy.add(0, 100), 100U);
    EXPECT_EQ(busy.add(200, 300), 100U);
    busy.forget_before(150);
    EXPECT_EQ(busy.add(50, 60), 10U);  // nobody asks that
    EXPECT_EQ(busy.add(250, 310), 10U);
}

}  // namespace
}  // namespace aliquot::guard
