// SPDX-License-Identifier: Apache-2.0
#include "cost/forecast.h"

#include <gtest/gtest.h>

#include "cost/report.h"

namespace aliquot::cost {
namespace {

Span two_gpus() { return {.rate = 4'000'000, .cpu_milli = 0, .memory_mib = 0, .devices = {1, 2}}; }

TEST(Forecast, IsTheSharesPriceTimesTheTime) {
    const Forecast told =
        forecast({.gpus = 1, .share = kWholeGpu / 4, .limit_seconds = 7'200}, two_gpus());
    EXPECT_EQ(told.per_hour, 500'000);
    EXPECT_EQ(told.most, 1'000'000);
    EXPECT_EQ(sentence_of(told, "EUR"), "at most 1.00 EUR by its time limit, 0.50 an hour");
}

TEST(Forecast, EarlierRunsSayWhatIsLikely) {
    std::vector<std::int64_t> runs;
    for (std::int64_t i = 10; i >= 1; --i) runs.push_back(i * 360);
    const Forecast told =
        forecast({.gpus = 2, .limit_seconds = 36'000, .earlier = runs}, two_gpus());
    EXPECT_EQ(told.p50, 2'000'000);  // half an hour
    EXPECT_EQ(told.p90, 3'600'000);
    EXPECT_EQ(sentence_of(told, "USD"),
              "likely 2.00 to 3.60 USD (10 earlier runs), at most 40.00 USD by its time limit, "
              "4.00 an hour");
    // It is ended at its limit.
    EXPECT_EQ(forecast({.gpus = 2, .limit_seconds = 60, .earlier = runs}, two_gpus()).p90, 66'666);
}

TEST(Forecast, WithoutAPriceThereIsNone) {
    Span node = two_gpus();
    node.rate = 0;
    EXPECT_EQ(sentence_of(forecast({.limit_seconds = 60}, node), "USD"), "");
}

TEST(Forecast, CountsCpuAndMemory) {
    const Span node{.rate = 1'006'000, .cpu_milli = 4'000, .memory_mib = 16'384, .devices = {1}};
    const Rates rates = rates_of(node);
    const Forecast told =
        forecast({.cpu_milli = 4'000, .memory_mib = 16'384, .limit_seconds = 3'600}, node);
    EXPECT_EQ(told.most, rates.gpus[0] + rates.cpu + rates.memory);
    EXPECT_EQ(told.most, 1'006'000);
}

}  // namespace
}  // namespace aliquot::cost
