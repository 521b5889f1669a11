// SPDX-License-Identifier: Apache-2.0
#include "cost/saving.h"

#include <gtest/gtest.h>

#include "cost/allocate.h"

namespace aliquot::cost {
namespace {

/// A job that holds one GPU of 24 GiB for four hours.
History four_hours(std::uint32_t peak_mib, std::uint32_t busy_ppm, bool out_of_memory = false) {
    History history;
    const NameId node = history.names.add("n1");
    const NameId gpu = history.names.add("GPU-1");
    history.spans.push_back(
        {.begin = 0, .end = 4 * kHourMs, .node = node, .rate = 1'000'000, .devices = {gpu}});
    const OwnerId owner = history.add({.job = history.names.add("infer")});
    for (TimeMs hour = 0; hour < 4; ++hour) {
        history.intervals.push_back({.begin = hour * kHourMs,
                                     .end = (hour + 1) * kHourMs,
                                     .node = node,
                                     .device = gpu,
                                     .owner = owner,
                                     .share = kWholeGpu,
                                     .gpu_memory_mib = 24'576,
                                     .gpu_memory_peak_mib = hour == 2 ? peak_mib : peak_mib / 2,
                                     .busy_ppm = hour == 1 ? busy_ppm : busy_ppm / 4,
                                     .out_of_memory = out_of_memory && hour == 3});
    }
    return history;
}

std::vector<Saving> savings(const History& history) {
    SavingSum sum(history);
    for (const Interval& one : history.intervals) sum.see(one);
    for (const Row& row : allocate(history).rows) sum.pay(row);
    return sum.savings();
}

TEST(Saving, IsFromThePeaksWithAQuarterOnTop) {
    const auto told = savings(four_hours(4'916, 100'000));
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].key, "infer");
    EXPECT_EQ(told[0].peak_mib, 4'916U);
    EXPECT_EQ(told[0].needed_mib, 6'145U);
    EXPECT_EQ(told[0].needed_percent, 13U);
    EXPECT_NEAR(static_cast<double>(told[0].saved), 3'000'000, 1'000);  // three quarters
}

TEST(Saving, ComputeCountsToo) {
    EXPECT_EQ(savings(four_hours(1'000, 380'000)).at(0).needed_percent, 48U);
    EXPECT_TRUE(savings(four_hours(1'000, 500'000)).empty());
}

TEST(Saving, IsNeverBelowTheFloor) {
    const auto told = savings(four_hours(2, 0));
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].needed_mib, 1'024U);
    EXPECT_EQ(told[0].needed_percent, 5U);
    EXPECT_GE(told[0].needed_share, kWholeGpu / 20);
    for (std::uint32_t peak = 1; peak < 12'000; peak += 97) {
        for (const Saving& one : savings(four_hours(peak, 77'000))) {
            EXPECT_GE(one.needed_mib, peak);
            EXPECT_GE(std::uint64_t{one.needed_share} * 24'576 / kWholeGpu + 1, peak);
        }
    }
}

TEST(Saving, IsNotToldOfWhatRanOutOfMemoryOrIsNotMeasured) {
    EXPECT_TRUE(savings(four_hours(1'000, 1'000, true)).empty());
    EXPECT_TRUE(savings(four_hours(0, 1'000)).empty());
    History brief = four_hours(1'000, 1'000);
    brief.intervals.resize(1);
    brief.intervals[0].end -= 1;
    EXPECT_TRUE(savings(brief).empty());
}

TEST(Saving, IsNotToldWhereLittleIsLeftOver) {
    EXPECT_TRUE(savings(four_hours(12'000, 1'000)).empty());
}

}  // namespace
}  // namespace aliquot::cost
