// SPDX-License-Identifier: Apache-2.0
#include "cost/report.h"

#include <gtest/gtest.h>

#include "cost/allocate.h"

namespace aliquot::cost {
namespace {

TEST(Money, TextsAreExact) {
    EXPECT_EQ(money_text(12'345'678), "12.345678");
    EXPECT_EQ(money_text(500'000), "0.50");
    EXPECT_EQ(money_text(-1), "-0.000001");
    EXPECT_EQ(money_text(12'345'678, 2), "12.35");
    EXPECT_EQ(money_text(-4'999, 2), "0.00");
    EXPECT_EQ(parse_money("0.526"), 526'000);
    EXPECT_EQ(parse_money("1000000"), kMostRate);
    for (const char* wrong : {"", "-1", "1.", "1000000.000001", "0.1234567", "1e3", ".5", "1 "}) {
        EXPECT_EQ(parse_money(wrong), std::nullopt) << wrong;
    }
}

TEST(Report, LinesAddUpToTheBill) {
    History history;
    const NameId node = history.names.add("n1");
    const NameId gpu = history.names.add("GPU-1");
    history.spans.push_back(
        {.begin = 0, .end = 2 * kHourMs, .node = node, .rate = 2'000'000, .devices = {gpu}});
    history.spans.push_back({.begin = 4 * kHourMs,
                             .end = 5 * kHourMs,
                             .node = node,
                             .rate = 2'000'000,
                             .devices = {gpu}});
    const OwnerId owner = history.add(Owner{.queue = history.names.add("train")});
    history.intervals.push_back({.begin = 0,
                                 .end = kHourMs,
                                 .node = node,
                                 .device = gpu,
                                 .owner = owner,
                                 .share = kWholeGpu,
                                 .state = State::kIdle});
    const Report report = report_of(allocate(history), history, By::kQueue, kHourMs);
    ASSERT_EQ(report.lines.size(), 2U);
    EXPECT_EQ(report.lines[0].key, "train");
    EXPECT_EQ(report.lines[0].sums.idle(), 2'000'000);
    EXPECT_EQ(report.lines[1].key, "free");
    EXPECT_TRUE(report.lines[1].nobody);
    EXPECT_EQ(report.bill, 6'000'000);
    EXPECT_EQ(report.sums.total(), report.bill);
    EXPECT_EQ(report.gap_ms, 2 * kHourMs);
    EXPECT_EQ(report.steps.size(), 3U);
}

TEST(Energy, AKilowattHourInADataCentre) {
    EXPECT_DOUBLE_EQ(grams_co2e(3'600'000'000, 1.2, 400), 480);
}

}  // namespace
}  // namespace aliquot::cost
