// SPDX-License-Identifier: Apache-2.0
#include "guard/busy_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
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

TEST(BusyRun, CountsWorkOfSeveralProcessesAtOnceOnce) {
    std::atomic<std::uint64_t> word{0};
    BusyRun one(word);
    BusyRun other(word);
    constexpr std::uint64_t kMs = 1'024'000;  // a multiple of the unit
    std::uint64_t counted = 0;
    // Both see the GPU busy from one wait for their share to the next, and settle in any order.
    for (std::uint64_t at = 5 * kMs; at < 4000 * kMs; at += 40 * kMs) {
        counted += one.add(at, at + 6 * kMs) + one.add(at + 6 * kMs, at + 10 * kMs);
        counted += other.add(at + kMs, at + 9 * kMs) + other.add(at + 9 * kMs, at + 10 * kMs);
    }
    EXPECT_EQ(counted, std::uint64_t{100} * 10 * kMs);
}

TEST(BusyRun, CountsWhatOnlyOneOfThemRan) {
    std::atomic<std::uint64_t> word{0};
    BusyRun run(word);
    constexpr std::uint64_t kMs = 1'024'000;
    EXPECT_EQ(run.add(10 * kMs, 12 * kMs), 2 * kMs);
    EXPECT_EQ(run.add(14 * kMs, 16 * kMs), 2 * kMs);  // after a pause
    EXPECT_EQ(run.add(12 * kMs, 14 * kMs), 2 * kMs);  // told late
    EXPECT_EQ(run.add(13 * kMs, 17 * kMs), kMs);
    EXPECT_EQ(run.add(1 * kMs, 2 * kMs), kMs);  // told very late
    EXPECT_EQ(run.add(15 * kMs, 16 * kMs), 0U);
    EXPECT_EQ(run.add(18 * kMs, 18 * kMs), 0U);
}

TEST(BusyRun, IsNeverLessThanTheUnionNorMoreThanTheSum) {
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
        // Also over the end of the word's clock.
        const std::uint64_t start = (std::uint64_t{1} << 48) - (round % 2 == 0 ? 0 : 1'000'000);
        std::atomic<std::uint64_t> word{0};
        BusyRun run(word);
        std::vector<bool> there(12'000, false);
        std::uint64_t together = 0;
        std::uint64_t sum = 0;
        std::uint64_t counted = 0;
        for (unsigned i = 0; i < 100; ++i) {
            const std::uint64_t begin = 100 * i + random() % 50;
            const std::uint64_t end = begin + random() % 300;
            for (std::uint64_t at = begin; at < end; ++at) {
                if (!there[at]) ++together;
                there[at] = true;
            }
            sum += end - begin;
            counted += run.add(start + begin * 256, start + end * 256);
        }
        EXPECT_GE(counted, together * 256) << round;
        EXPECT_LE(counted, sum * 256) << round;
    }
}

TEST(BusyRun, ATimeOfAnotherClockIsForgotten) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    std::atomic<std::uint64_t> word{0};
    BusyRun run(word);
    EXPECT_EQ(run.add(5000 * kSecond, 5001 * kSecond), kSecond);
    EXPECT_EQ(run.add(10 * kSecond, 11 * kSecond), kSecond);
    EXPECT_LE(run.add(10 * kSecond, 11 * kSecond), 256U);
}

}  // namespace
}  // namespace aliquot::guard
