// SPDX-License-Identifier: Apache-2.0
#include "guard_region/estimates.h"

#include <gtest/gtest.h>

namespace aliquot::guard_region {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr unsigned kSmall = 10;
const ContextKind kA2{.model = "NVIDIA A2", .driver_version = "580.65.06"};

TEST(ContextEstimates, BeginWithTheSizeOfTheGpu) {
    const ContextEstimates estimates;
    EXPECT_EQ(estimates.estimate(kA2, kSmall), 400 * kMiB);
    EXPECT_EQ(estimates.estimate(kA2, 132), 600 * kMiB);
}

TEST(ContextEstimates, LearnTheLargestOfYoungProcesses) {
    ContextEstimates estimates;
    const ContextEstimates::Moment start{};
    EXPECT_TRUE(estimates.note(kA2, kSmall, "a", 100 * kMiB, start));
    EXPECT_EQ(estimates.estimate(kA2, kSmall), 100 * kMiB);
    EXPECT_TRUE(estimates.note(kA2, kSmall, "b", 120 * kMiB, start + 10s));
    EXPECT_FALSE(estimates.note(kA2, kSmall, "c", 90 * kMiB, start + 10s));
    EXPECT_FALSE(
        estimates.note(kA2, kSmall, "a", 500 * kMiB, start + 3s));  // it has loaded kernels
    EXPECT_EQ(estimates.estimate(kA2, kSmall), 120 * kMiB);
    EXPECT_EQ(estimates.estimate({.model = "NVIDIA A2", .driver_version = "1"}, kSmall),
              400 * kMiB);
}

TEST(ContextEstimates, BelieveNoTenantThatPretends) {
    ContextEstimates estimates;
    EXPECT_TRUE(estimates.note(kA2, kSmall, "a", 1ULL << 40U, {}));
    EXPECT_EQ(estimates.estimate(kA2, kSmall), 800 * kMiB);
}

TEST(ContextEstimates, AreReadBack) {
    ContextEstimates estimates;
    estimates.note(kA2, kSmall, "a", 100 * kMiB, {});
    ContextEstimates again;
    again.read("nonsense\n1\t2\n\tx\ty\n" + estimates.to_text());
    EXPECT_EQ(again.to_text(), estimates.to_text());
    EXPECT_EQ(again.estimate(kA2, kSmall), 100 * kMiB);
}

TEST(ContextEstimates, CountMultiprocessorsByGeneration) {
    EXPECT_EQ(multiprocessors_of(6912, 8, 0), 108U);
    EXPECT_EQ(multiprocessors_of(10496, 8, 6), 82U);
    EXPECT_EQ(multiprocessors_of(16896, 9, 0), 132U);
    EXPECT_EQ(multiprocessors_of(0, 9, 0), 0U);
}

}  // namespace
}  // namespace aliquot::guard_region
