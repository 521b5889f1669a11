// SPDX-License-Identifier: Apache-2.0
#include "gpu/meters.h"

#include <gtest/gtest.h>

#include <limits>

namespace aliquot::gpu {
namespace {

// Three copies of this disagreed about NaN, which one of them cast to an integer.
TEST(MetricValues, AnAmountIsEmptyForWhatNoAmountCanBe) {
    for (const double value :
         {-1.0, -0.5, std::numeric_limits<double>::quiet_NaN(),
          std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
        MetricValues metrics;
        metrics.set(Metric::kPowerMilliwatts, value);
        EXPECT_TRUE(metrics.get(Metric::kPowerMilliwatts)) << value;
        EXPECT_FALSE(metrics.amount(Metric::kPowerMilliwatts)) << value;
        EXPECT_FALSE(metrics.whole(Metric::kPowerMilliwatts)) << value;
    }
    EXPECT_FALSE(MetricValues().amount(Metric::kPowerMilliwatts));
}

TEST(MetricValues, AWholeNumberIsCutAndFitsSixtyFourBits) {
    MetricValues metrics;
    metrics.set(Metric::kPowerMilliwatts, 41999.9);
    EXPECT_EQ(metrics.amount(Metric::kPowerMilliwatts), 41999.9);
    EXPECT_EQ(metrics.whole(Metric::kPowerMilliwatts), 41999U);
    metrics.set(Metric::kEnergyMillijoules, 0x1p64);
    EXPECT_TRUE(metrics.amount(Metric::kEnergyMillijoules));
    EXPECT_FALSE(metrics.whole(Metric::kEnergyMillijoules));
}

}  // namespace
}  // namespace aliquot::gpu
