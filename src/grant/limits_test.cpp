// SPDX-License-Identifier: Apache-2.0
#include "grant/limits.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace aliquot::grant {
namespace {

constexpr std::uint64_t kGi = 1ULL << 30U;

TEST(Limits, OfSeveralReplicasAddUp) {
    const Limits one{.memory_bytes = 4 * kGi, .compute_percent = 25, .weight = 30};
    EXPECT_EQ(times(one, 1), one);
    EXPECT_EQ(times(one, 3),
              (Limits{.memory_bytes = 12 * kGi, .compute_percent = 75, .weight = 90}));
    EXPECT_EQ(sum(std::array{one, one, one}), times(one, 3));
}

TEST(Limits, OfComputeEndAtTheWholeDevice) {
    const Limits one{.compute_percent = 40};
    EXPECT_EQ(times(one, 3).compute_percent, 100U);
    EXPECT_EQ(sum(std::array{one, one, one}).compute_percent, 100U);
}

TEST(Limits, AreNoneForAContainerOneOfWhoseSharesHasNone) {
    EXPECT_EQ(times({}, 4), Limits{});
    const Limits memory{.memory_bytes = kGi};
    const Limits both{.memory_bytes = kGi, .compute_percent = 50};
    EXPECT_EQ(sum(std::array{memory, both}), (Limits{.memory_bytes = 2 * kGi}));
    EXPECT_EQ(sum(std::array{both, Limits{}}), Limits{});
    EXPECT_EQ(sum({}), Limits{});
}

TEST(Limits, StayAtTheEndOfTheirType) {
    const Limits one{.memory_bytes = 1ULL << 63U, .compute_percent = 100, .weight = 1U << 31U};
    const Limits two{.memory_bytes = std::numeric_limits<std::uint64_t>::max(),
                     .compute_percent = 100,
                     .weight = std::numeric_limits<unsigned>::max()};
    EXPECT_EQ(times(one, 3), two);
    EXPECT_EQ(sum(std::array{one, one, one}), two);
}

TEST(Limits, AreNotFirmWhereThereIsOnlyAWeight) {
    EXPECT_FALSE(Limits{}.any());
    EXPECT_TRUE(Limits{.weight = 1}.any());
    EXPECT_FALSE(Limits{.weight = 1}.are_firm());
    EXPECT_TRUE(Limits{.memory_bytes = 1}.are_firm());
    EXPECT_TRUE(Limits{.compute_percent = 1}.are_firm());
}

}  // namespace
}  // namespace aliquot::grant
