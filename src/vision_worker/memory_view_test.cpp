// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/memory_view.h"

#include <gtest/gtest.h>

namespace aliquot::vision_worker {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;

TEST(MemoryView, TheShareIsTheLimitAndWhatIsTakenOfItCounts) {
    const auto memory = batch_memory({.total_bytes = 7 * kGib, .free_bytes = 6 * kGib}, 0, 100);
    EXPECT_EQ(memory.limit_bytes, 7 * kGib);
    EXPECT_EQ(memory.fixed_bytes, kGib);
    EXPECT_EQ(memory.weights_bytes, 100U);
}

TEST(MemoryView, ASmallerLimitOfTheSettingsWinsUnlessThereIsLessLeft) {
    EXPECT_EQ(
        batch_memory({.total_bytes = 16 * kGib, .free_bytes = 15 * kGib}, 2 * kGib, 0).limit_bytes,
        2 * kGib);
    EXPECT_EQ(batch_memory({.total_bytes = 16 * kGib, .free_bytes = kGib}, 2 * kGib, 0).limit_bytes,
              kGib);
    EXPECT_EQ(
        batch_memory({.total_bytes = 7 * kGib, .free_bytes = 6 * kGib}, 20 * kGib, 0).limit_bytes,
        7 * kGib);
}

TEST(MemoryView, CoresFollowTheQuotaOfTheControlGroup) {
    EXPECT_EQ(cores_of_quota("200000 100000\n"), 2);
    EXPECT_EQ(cores_of_quota("50000 100000"), 1);
    EXPECT_EQ(cores_of_quota("max 100000"), 0);
    EXPECT_EQ(cores_of_quota(""), 0);
    EXPECT_EQ(cores_of_quota("1 0"), 0);
    EXPECT_GE(allowed_cores(), 1);
}

}  // namespace
}  // namespace aliquot::vision_worker
