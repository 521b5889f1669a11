// SPDX-License-Identifier: Apache-2.0
#include "placement/large_tasks.h"

#include <gtest/gtest.h>

namespace aliquot::placement {
namespace {

const Shape kEight{.gpus = 8, .milli = kWholeGpu};
const Shape kOne{.gpus = 1, .milli = kWholeGpu};

/// As after many changes of which every second was an end.
LargeTasks busy(int refused_of_100 = 0) {
    LargeTasks tasks(default_weights());
    for (int i = 0; i < 40'000; ++i) {
        tasks.changed(kOne, i % 2 == 0 ? 1 : -1);
        if (i % 100 < refused_of_100) tasks.refused(kOne);
    }
    return tasks;
}

TEST(LargeTasks, AreWorthNothingWhileNothingEnds) {
    LargeTasks tasks(default_weights());
    for (int i = 0; i < 40'000; ++i) tasks.changed(kOne, 1);
    EXPECT_EQ(tasks.price(kEight, 8000, 20, 1), 0);
}

TEST(LargeTasks, ASlotIsWorthItsTaskWhileSlotsAreFewAndFadesFast) {
    const auto tasks = busy();
    EXPECT_NEAR(tasks.price(kEight, 8000, 20, 0), 8000, 10);
    EXPECT_NEAR(tasks.price(kEight, 8000, 20, 14), 8000, 10);
    EXPECT_NEAR(tasks.price(kEight, 8000, 20, 28), 1000, 5);
    EXPECT_NEAR(tasks.price(kEight, 8000, 20, 140), 8, 0.1);
    EXPECT_EQ(tasks.price(kOne, 1000, 20, 0), 0);
    EXPECT_EQ(tasks.price({.gpus = 1, .milli = 500}, 500, 20, 0), 0);
}

TEST(LargeTasks, AClusterThatRefusesSmallTasksKeepsNothing) {
    EXPECT_NEAR(busy(2).price(kEight, 8000, 20, 0), 8000 * (1 - 8 * 0.04), 300);
    EXPECT_EQ(busy(20).price(kEight, 8000, 20, 0), 0);
}

TEST(LargeTasks, ANodeWithFewTasksIsWorthMoreThanOneWithMany) {
    const auto tasks = busy();
    const auto drained = static_cast<std::int64_t>(tasks.drained(4000, 8) * 256);
    EXPECT_GT(drained, 0);
    std::int64_t before = drained;
    for (std::uint32_t live = 1; live < 45; ++live) {
        const auto next = LargeTasks::of_next(drained, live);
        EXPECT_LE(next, before);
        before = next;
    }
    EXPECT_EQ(before, 0);
    EXPECT_EQ(tasks.drained(1e9, 8), tasks.drained(8000, 8));  // at most what the node has
}

}  // namespace
}  // namespace aliquot::placement
