// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/load_curve.h"

#include <gtest/gtest.h>

namespace aliquot::sim::trace {
namespace {

TEST(Nearest, RoundsHalvesToTheEvenNumber) {
    EXPECT_EQ(nearest(5, 2), 2);
    EXPECT_EQ(nearest(7, 2), 4);
    EXPECT_EQ(nearest(9, 4), 2);
    EXPECT_EQ(nearest(11, 4), 3);
    EXPECT_EQ(nearest(0, 3), 0);
}

TEST(LoadCurve, PutsArrivalsIntoBucketsOfWholePercent) {
    const LoadCurve curve(200);
    EXPECT_EQ(curve.bucket_of(1), 0);  // 0.5 %
    EXPECT_EQ(curve.bucket_of(3), 2);  // 1.5 %
    EXPECT_EQ(curve.bucket_of(5), 2);  // 2.5 %
    EXPECT_EQ(curve.bucket_of(260), 130);
}

TEST(LoadCurve, ValueOfABucketIsTheMeanOverItsArrivals) {
    LoadCurve curve(3000);
    curve.add(100, 1000);  // 33.33
    curve.add(100, 2000);  // 66.67
    curve.add(100, 2000);
    curve.add_fragmentation(100, 500, 1000);  // 50
    curve.add_fragmentation(100, 1, 3000);    // 0.03
    const auto point = curve.at(100);
    ASSERT_TRUE(point);
    EXPECT_EQ(point->allocation, 55.56);
    EXPECT_EQ(point->fragmentation, 25.02);  // 25.015, to the even hundredth
}

TEST(LoadCurve, AnEmptyBucketTakesTheMeanOverTheArrivalsBesideIt) {
    LoadCurve curve(100);
    curve.add(99, 90);
    curve.add(101, 96);
    curve.add(101, 96);
    EXPECT_EQ(curve.at(100)->allocation, 94);
    EXPECT_EQ(curve.at(98)->allocation, 90);
    EXPECT_FALSE(curve.at(97));
    EXPECT_FALSE(curve.at(100)->fragmentation);
}

TEST(LoadCurve, NothingIdleIsNothingFragmented) {
    LoadCurve curve(100);
    curve.add(100, 100);
    curve.add_fragmentation(100, 0, 0);
    EXPECT_EQ(curve.at(100)->fragmentation, 0);
}

}  // namespace
}  // namespace aliquot::sim::trace
