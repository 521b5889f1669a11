// SPDX-License-Identifier: Apache-2.0
#include "cost/budget.h"

#include <gtest/gtest.h>

#include "cost/allocate.h"

namespace aliquot::cost {
namespace {

constexpr TimeMs kDay = 1'795'737'600'000;  // a Friday, 2026-11-27

/// Of the queue `train`: two units yesterday and one today; of `test` one today.
History history() {
    History all;
    const NameId node = all.names.add("n1");
    const NameId gpu = all.names.add("GPU-1");
    all.spans.push_back({.begin = kDay - kDayMs,
                         .end = kDay + kDayMs,
                         .node = node,
                         .rate = 1'000'000,
                         .devices = {gpu}});
    const auto hold = [&](const char* queue, TimeMs begin, TimeMs hours) {
        all.intervals.push_back({.begin = begin,
                                 .end = begin + hours * kHourMs,
                                 .node = node,
                                 .device = gpu,
                                 .owner = all.add({.queue = all.names.add(queue)}),
                                 .share = kWholeGpu});
    };
    hold("train", kDay - 5 * kHourMs, 2);
    hold("train", kDay + kHourMs, 1);
    hold("test", kDay + 3 * kHourMs, 1);
    return all;
}

BudgetState state(Micros amount, Budget::Period period, bool hold = false) {
    const History all = history();
    return state_of({.name = "train", .amount = amount, .period = period, .hold = hold},
                    allocate(all), all, kDay + 12 * kHourMs);
}

TEST(Budget, CountsItsOwnerInItsPeriod) {
    EXPECT_EQ(state(10, Budget::Period::kDay).spent, 1'000'000);
    EXPECT_EQ(state(10, Budget::Period::kWeek).spent, 3'000'000);
    EXPECT_EQ(state(10, Budget::Period::kMonth).spent, 3'000'000);
}

TEST(Budget, WarnsBeforeItIsSpent) {
    EXPECT_FALSE(state(4'000'000, Budget::Period::kMonth).warns());
    EXPECT_TRUE(state(3'750'000, Budget::Period::kMonth).warns());
    EXPECT_FALSE(state(3'750'000, Budget::Period::kMonth).is_spent());
    EXPECT_TRUE(state(3'000'000, Budget::Period::kMonth).is_spent());
    EXPECT_TRUE(state(0, Budget::Period::kMonth).is_spent());
}

TEST(Budget, HoldsItsOwnerAloneOnceItIsSpent) {
    const auto held = [](const BudgetState& of, const char* queue) {
        return hold_reason({of}, queue, "ann", "", "USD");
    };
    const BudgetState spent = state(3'000'000, Budget::Period::kMonth, true);
    EXPECT_EQ(held(spent, "train"),
              "the budget is spent: queue train: 3.00 of 3.00 USD this month (100 %)");
    EXPECT_EQ(held(spent, "test"), "");
    EXPECT_EQ(held(state(3'000'000, Budget::Period::kMonth, false), "train"), "");
    EXPECT_EQ(held(state(3'000'001, Budget::Period::kMonth, true), "train"), "");
}

}  // namespace
}  // namespace aliquot::cost
