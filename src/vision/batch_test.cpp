// SPDX-License-Identifier: Apache-2.0
#include "vision/batch.h"

#include <gmock/gmock.h>

namespace aliquot::vision {
namespace {

using std::chrono::microseconds;
using testing::HasSubstr;
constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;

TEST(Batch, AFullBatchLeavesAtOnceAndALonelyPictureToo) {
    const BatchRule rule{.most = 8, .most_wait = microseconds(2000)};
    EXPECT_EQ(next_batch(rule, 0, microseconds(0), 3).take, 0U);
    EXPECT_EQ(next_batch(rule, 8, microseconds(0), 3).take, 8U);
    EXPECT_EQ(next_batch(rule, 20, microseconds(0), 3).take, 8U);
    EXPECT_EQ(next_batch(rule, 1, microseconds(0), 0).take, 1U) << "nobody else is coming";
}

TEST(Batch, WithOthersOnTheirWayTheOldestWaitsNoLongerThanTheRule) {
    const BatchRule rule{.most = 8, .most_wait = microseconds(2000)};
    const BatchStep step = next_batch(rule, 3, microseconds(500), 2);
    EXPECT_EQ(step.take, 0U);
    EXPECT_EQ(step.wait, microseconds(1500));
    EXPECT_EQ(next_batch(rule, 3, microseconds(2000), 2).take, 3U);
    EXPECT_EQ(next_batch(rule, 3, microseconds(99999), 2).take, 3U);
    EXPECT_EQ(next_batch({.most = 8, .most_wait = microseconds(0)}, 1, microseconds(0), 5).take,
              1U);
}

TEST(Batch, IsPaddedToFewShapes) {
    EXPECT_EQ(padded_batch(1, 8), 1U);
    EXPECT_EQ(padded_batch(3, 8), 4U);
    EXPECT_EQ(padded_batch(5, 8), 8U);
    EXPECT_EQ(padded_batch(5, 6), 6U);
    EXPECT_EQ(padded_batch(0, 0), 1U);
}

TEST(Batch, TheSizeFollowsTheMemoryOfTheShare) {
    const auto of = [](double gib) {
        return choose_batch({.limit_bytes = static_cast<std::uint64_t>(gib * kGib)}, 1024).batch;
    };
    EXPECT_EQ(of(40), 32U);
    EXPECT_EQ(of(80), 64U);
    EXPECT_EQ(of(32), 16U);
    EXPECT_EQ(of(24), 16U);
    EXPECT_EQ(of(16), 8U);
    EXPECT_EQ(of(8), 4U);
    EXPECT_EQ(of(7), 4U);
    EXPECT_EQ(of(3.5), 2U);
    EXPECT_EQ(of(1), 1U);
    EXPECT_EQ(of(0), 1U);
}

TEST(Batch, IsSmallerWhereTheModelLeavesLessRoom) {
    const BatchChoice choice = choose_batch({.limit_bytes = 8 * kGib,
                                             .fixed_bytes = kGib,
                                             .weights_bytes = 4 * kGib,
                                             .sample_bytes = kGib},
                                            64);
    EXPECT_EQ(choice.batch, 2U);
    EXPECT_THAT(choice.formula, HasSubstr("floor_pow2(0.8 x 8 GiB) = 4, 2 fit beside the model"));
    EXPECT_EQ(choice.arena_bytes, 7 * kGib - (std::uint64_t{256} << 20U));
    const BatchChoice none =
        choose_batch({.limit_bytes = kGib, .fixed_bytes = 2 * kGib, .sample_bytes = 1}, 64);
    EXPECT_EQ(none.batch, 1U);
    EXPECT_EQ(none.arena_bytes, 0U);
    EXPECT_EQ(choose_batch({.limit_bytes = 80 * kGib}, 16).batch, 16U);
}

}  // namespace
}  // namespace aliquot::vision
