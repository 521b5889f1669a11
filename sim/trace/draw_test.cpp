// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace aliquot::sim::trace {
namespace {

TaskList tasks_of(std::initializer_list<std::pair<const char*, int>> rows) {
    TaskList list;
    for (const auto& [name, milli] : rows) {
        Task task;
        task.name = name;
        task.request.gpus = milli > 0 ? 1 : 0;
        task.request.milli = milli;
        list.tasks.push_back(task);
    }
    return list;
}

std::int64_t demand(const Order& order, const TaskList& tasks) {
    std::int64_t milli = 0;
    for (const std::uint32_t row : order.arrivals) milli += tasks.tasks[row].gpu_milli();
    return milli;
}

TEST(SplitMix64, GivesThePublishedNumbers) {
    SplitMix64 random(1234567);
    EXPECT_EQ(random.next(), 6457827717110365317U);
    EXPECT_EQ(random.next(), 3203168211198807973U);
    EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(SplitMix64, DrawsEveryNumberBelowALimit) {
    SplitMix64 random(1);
    std::vector<int> seen(5);
    for (int i = 0; i < 1000; ++i) ++seen.at(random.below(5));
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n > 150 && n < 250; }));
}

TEST(DrawOrder, HoldsEveryTaskAndThenSomeUpToTheDemand) {
    const TaskList tasks = tasks_of({{"a", 500}, {"b", 300}, {"c", 0}});
    const auto order = draw_order(tasks, 4, 4000, 1.3, 7);
    ASSERT_TRUE(order);
    std::vector<std::uint32_t> first(order->arrivals.begin(), order->arrivals.begin() + 3);
    std::sort(first.begin(), first.end());
    EXPECT_EQ(first, (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_LE(demand(*order, tasks), 5200);
    EXPECT_GT(demand(*order, tasks), 5200 - 500);
    std::vector<std::uint32_t> ranks = order->ranks;
    std::sort(ranks.begin(), ranks.end());
    EXPECT_EQ(ranks, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(DrawOrder, LeavesTasksOutWhenTheListAsksForTooMuch) {
    TaskList tasks;
    for (int i = 0; i < 100; ++i) {
        Task task;
        task.name = std::to_string(i);
        task.request.gpus = 1;
        task.request.milli = 1000;
        tasks.tasks.push_back(task);
    }
    const auto order = draw_order(tasks, 1, 10'000, 1.3, 7);
    ASSERT_TRUE(order);
    EXPECT_EQ(order->arrivals.size(), 13U);
    EXPECT_EQ(demand(*order, tasks), 13'000);
}

TEST(DrawOrder, DoesNotDependOnTheOrderOfTheListButOnTheSeed) {
    const TaskList one = tasks_of({{"a", 500}, {"b", 300}, {"c", 100}});
    const TaskList other = tasks_of({{"c", 100}, {"a", 500}, {"b", 300}});
    const auto names = [](const TaskList& list, std::uint64_t seed) {
        std::string text;
        const auto order = draw_order(list, 2, 10'000, 1, seed);
        for (const std::uint32_t row : order->arrivals) {
            text += list.tasks[row].name;
        }
        return text;
    };
    // The first part, the shuffled list, is by name; the draws that follow are by row.
    EXPECT_EQ(names(one, 3).substr(0, 3), names(other, 3).substr(0, 3));
    EXPECT_EQ(names(one, 3), names(one, 3));
    EXPECT_NE(names(one, 3), names(one, 4));
}

TEST(DrawOrder, EndsWhenNothingAsksForGpu) {
    const auto order = draw_order(tasks_of({{"a", 0}, {"b", 0}}), 1, 1000, 1.3, 1);
    ASSERT_TRUE(order);
    EXPECT_EQ(order->arrivals.size(), 2U);
}

TEST(CutArrivals, StopsOnceMoreHasArrivedThanWanted) {
    const TaskList tasks = tasks_of({{"a", 1000}});
    Order order{.ranks = {}, .arrivals = std::vector<std::uint32_t>(100, 0)};
    cut_arrivals(order, tasks, 10'000, 1.3);
    EXPECT_EQ(order.arrivals.size(), 14U);  // 13 make 1.3 exactly; the next is the first above
}

TEST(SortByCreation, KeepsTheOrderWithinOneSecond) {
    TaskList tasks = tasks_of({{"a", 1}, {"b", 1}, {"c", 1}});
    tasks.tasks[0].creation = 5;
    Order order{.ranks = {}, .arrivals = {0, 2, 1}};
    sort_by_creation(order, tasks);
    EXPECT_EQ(order.arrivals, (std::vector<std::uint32_t>{2, 1, 0}));
}

}  // namespace
}  // namespace aliquot::sim::trace
