// SPDX-License-Identifier: Apache-2.0
#include "jobs/retry.h"

#include <gtest/gtest.h>

namespace aliquot::jobs {
namespace {

using std::chrono::seconds;

// R73.
TEST(JobRetry, OfALostMachineOrSpotNodeDoesNotCount) {
    for (const Cause cause : {Cause::kNodeLost, Cause::kSpotTaken, Cause::kPreempted}) {
        const Retry retry = retry_after(cause, 100, 0);
        EXPECT_TRUE(retry.again) << word(cause);
        EXPECT_FALSE(retry.counts) << word(cause);
    }
}

// R73.
TEST(JobRetry, OfAFailedGpuGoesElsewhere) {
    const Retry retry = retry_after(Cause::kGpuFault, 3, 3);
    EXPECT_TRUE(retry.again);
    EXPECT_TRUE(retry.elsewhere);
    EXPECT_FALSE(retry.counts);
}

TEST(JobRetry, OfAProgramThatFailsCountsAndWaitsLonger) {
    EXPECT_FALSE(retry_after(Cause::kProgram, 0, 0).again);
    EXPECT_TRUE(retry_after(Cause::kProgram, 2, 3).again);
    EXPECT_FALSE(retry_after(Cause::kProgram, 3, 3).again);
    EXPECT_EQ(retry_after(Cause::kProgram, 0, 3).pause, seconds(10));
    EXPECT_EQ(retry_after(Cause::kOutOfMemory, 2, 3).pause, seconds(40));
    EXPECT_EQ(retry_after(Cause::kGpuProgram, UINT32_MAX - 1, UINT32_MAX).pause, seconds(360));
}

TEST(JobRetry, NeverFollowsACancelADeadlineOrAProgramThatCannotStart) {
    for (const Cause cause :
         {Cause::kNone, Cause::kCancelled, Cause::kDeadline, Cause::kNotStarted, Cause::kIdle}) {
        EXPECT_FALSE(retry_after(cause, 0, 100).again) << word(cause);
    }
}

TEST(JobRetry, TellsWhoseFaultAnXidIs) {
    EXPECT_EQ(cause_of_xid(79), Cause::kGpuFault);    // fallen off the bus
    EXPECT_EQ(cause_of_xid(48), Cause::kGpuFault);    // double-bit ECC
    EXPECT_EQ(cause_of_xid(13), Cause::kGpuProgram);  // graphics engine exception
    EXPECT_EQ(cause_of_xid(0), Cause::kNone);
    EXPECT_EQ(cause_of_xid(4'000'000'000), Cause::kNone);
}

TEST(JobRetry, HasAWordForEveryCause) {
    for (int i = 0; i <= static_cast<int>(Cause::kIdle); ++i) {
        const auto cause = static_cast<Cause>(i);
        EXPECT_EQ(cause_of(word(cause)), cause);
        EXPECT_FALSE(meaning_of(cause).empty());
    }
    EXPECT_FALSE(cause_of("x"));
}

}  // namespace
}  // namespace aliquot::jobs
