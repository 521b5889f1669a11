// SPDX-License-Identifier: Apache-2.0
#include "telemetry/busy.h"

#include <gtest/gtest.h>

#include <vector>

#include "telemetry/split.h"

namespace aliquot::telemetry {
namespace {

using namespace std::chrono_literals;

TEST(BusySamples, StandForTheTimeSinceTheOneBefore) {
    BusySamples samples;
    const std::vector<gpu::BusySample> first{{.at_us = 600'000, .percent = 100},
                                             {.at_us = 800'000, .percent = 100},
                                             {.at_us = 1'000'000, .percent = 100}};
    EXPECT_EQ(samples.take(first, 0s, 0s).span_ns, 0U) << "nothing is known of the time before";
    const std::vector<gpu::BusySample> more{{.at_us = 1'200'000, .percent = 50},
                                            {.at_us = 1'400'000, .percent = 0}};
    const BusyStretch stretch = samples.take(more, 1s, 1s);
    EXPECT_EQ(stretch.span_ns, 400'000'000U);
    EXPECT_EQ(stretch.busy_ns, 100'000'000U);
    EXPECT_EQ(samples.take(more, 1s, 1s).span_ns, 0U) << "each sample counts once";
}

TEST(BusySamples, APauseIsNotMadeUp) {
    BusySamples samples;
    (void)samples.take(std::vector<gpu::BusySample>{{.at_us = 1'000'000, .percent = 0}}, 0s, 0s);
    const BusyStretch stretch = samples.take(
        std::vector<gpu::BusySample>{{.at_us = 3'601'000'000, .percent = 100}}, 1s, 1h);
    EXPECT_LE(stretch.span_ns, 2'000'000'000U);
}

TEST(BusySamples, OfLooksThatFailedAreMadeUp) {
    BusySamples samples;
    (void)samples.take(std::vector<gpu::BusySample>{{.at_us = 1'000'000, .percent = 0}}, 0s, 0s);
    std::vector<gpu::BusySample> more;
    for (std::uint64_t i = 1; i <= 60; ++i) {
        more.push_back({.at_us = 1'000'000 + i * 100'000, .percent = 50});
    }
    const BusyStretch stretch = samples.take(more, 500ms, 6s);
    EXPECT_EQ(stretch.span_ns, 6'000'000'000U);
    EXPECT_EQ(stretch.busy_ns, 3'000'000'000U);
}

TEST(ProcessUses, CountFromWhatWasSeen) {
    ProcessUses uses;
    uses.seen_until(1'000'000);
    const std::vector<gpu::ProcessUse> seen{{.pid = 1, .at_us = 2'000'000, .sm_percent = 40},
                                            {.pid = 2, .at_us = 1'500'000, .sm_percent = 10},
                                            {.pid = 2, .at_us = 2'000'000, .sm_percent = 20}};
    const auto busy = uses.take(seen, 1s);
    EXPECT_EQ(busy.at(1), 400'000'000U);
    EXPECT_EQ(busy.at(2), 50'000'000U + 100'000'000U);
    EXPECT_EQ(uses.newest_us(), 2'000'000U);
    EXPECT_TRUE(uses.take(seen, 1s).empty()) << "stale samples do not count again";
}

TEST(Divide, NeverGivesMoreThanThereIs) {
    EXPECT_EQ(divide(10, std::vector<std::uint64_t>{1, 1, 1}, 0),
              (std::vector<std::uint64_t>{3, 3, 3}));
    EXPECT_EQ(divide(100, std::vector<std::uint64_t>{10, 20}, 100),
              (std::vector<std::uint64_t>{10, 20}));
    EXPECT_EQ(divide(5, std::vector<std::uint64_t>{0, 0}, 0), (std::vector<std::uint64_t>{0, 0}));
    EXPECT_EQ(scaled(~0ULL, ~0ULL, ~0ULL), ~0ULL);
}

}  // namespace
}  // namespace aliquot::telemetry
