// SPDX-License-Identifier: Apache-2.0
#include "gpu/meters.h"

#include <gtest/gtest.h>

#include <limits>

namespace aliquot::gpu {
namespace {

// Three copies of this disagreed about NaN, which one of them cast to an integer.
TEST(Figures, AnAmountIsEmptyForWhatNoAmountCanBe) {
    for (const double value :
         {-1.0, -0.5, std::numeric_limits<double>::quiet_NaN(),
          std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
        Figures figures;
        figures.set(Figure::kPowerMilliwatts, value);
        EXPECT_TRUE(figures.get(Figure::kPowerMilliwatts)) << value;
        EXPECT_FALSE(figures.amount(Figure::kPowerMilliwatts)) << value;
        EXPECT_FALSE(figures.whole(Figure::kPowerMilliwatts)) << value;
    }
    EXPECT_FALSE(Figures().amount(Figure::kPowerMilliwatts));
}

TEST(Figures, AWholeNumberIsCutAndFitsSixtyFourBits) {
    Figures figures;
    figures.set(Figure::kPowerMilliwatts, 41999.9);
    EXPECT_EQ(figures.amount(Figure::kPowerMilliwatts), 41999.9);
    EXPECT_EQ(figures.whole(Figure::kPowerMilliwatts), 41999U);
    figures.set(Figure::kEnergyMillijoules, 0x1p64);
    EXPECT_TRUE(figures.amount(Figure::kEnergyMillijoules));
    EXPECT_FALSE(figures.whole(Figure::kEnergyMillijoules));
}

}  // namespace
}  // namespace aliquot::gpu
