// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharing/offer.h"

namespace aliquot::sharing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Ids = std::vector<std::string>;
using enum AllocationPolicy;

Resource resource(std::size_t gpus, unsigned replicas) {
    Resource result{.name = "nvidia.com/gpu", .shared = replicas > 1};
    for (unsigned i = 0; i < gpus; ++i) {
        OfferedGpu offered{.replicas = replicas};
        offered.gpu.index = i;
        offered.gpu.uuid = {"GPU-" + std::to_string(i)};
        result.gpus.push_back(offered);
    }
    return result;
}

TEST(Prefer, NeverTwoOfOneGpuWhileAnotherHasRoom) {
    const Ids available{"GPU-0::0", "GPU-0::1", "GPU-0::2", "GPU-1::2"};
    for (const auto policy : {kDistributed, kPacked}) {
        EXPECT_THAT(prefer(resource(2, 3), {}, policy, available, {}, 2),
                    UnorderedElementsAre("GPU-0::0", "GPU-1::2"));
    }
}

TEST(Prefer, DistributedTakesTheIdlestGpuAndPackedTheBusiest) {
    const Ids available{"GPU-0::1", "GPU-1::0", "GPU-1::1"};
    EXPECT_THAT(prefer(resource(2, 2), {}, kDistributed, available, {}, 1),
                ElementsAre("GPU-1::0"));
    EXPECT_THAT(prefer(resource(2, 2), {}, kPacked, available, {}, 1), ElementsAre("GPU-0::1"));
}

TEST(Prefer, GivesTwoOfOneGpuOnlyWhenNothingElseIsFree) {
    const Ids available{"GPU-1::1", "GPU-1::2"};
    EXPECT_THAT(prefer(resource(2, 3), {}, kDistributed, available, {}, 2),
                ElementsAre("GPU-1::1", "GPU-1::2"));
}

TEST(Prefer, KeepsWhatMustBeIncludedAndCountsIt) {
    const Ids available{"GPU-0::0", "GPU-0::1", "GPU-1::0", "GPU-1::1"};
    EXPECT_THAT(prefer(resource(2, 2), {}, kPacked, available, Ids{"GPU-0::1"}, 2),
                ElementsAre("GPU-0::1", "GPU-1::0"));
}

TEST(Prefer, OrdersReplicasByNumber) {
    const Ids available{"GPU-0::10", "GPU-0::9", "GPU-0::2"};
    EXPECT_THAT(prefer(resource(1, 12), {}, kDistributed, available, {}, 2),
                ElementsAre("GPU-0::2", "GPU-0::9"));
}

TEST(Prefer, WholeGpusAreTakenWhereTheLinksAre) {
    // 0-1 and 2-3 are pairs; a set of two must not cut both.
    const std::vector<std::vector<gpu::LinkScore>> links{
        {0, 200, 10, 10}, {200, 0, 10, 10}, {10, 10, 0, 300}, {10, 10, 300, 0}};
    const Ids available{"GPU-0", "GPU-1", "GPU-2", "GPU-3"};
    EXPECT_THAT(prefer(resource(4, 1), links, kDistributed, available, {}, 2),
                ElementsAre("GPU-2", "GPU-3"));
    EXPECT_THAT(prefer(resource(4, 1), links, kDistributed, available, Ids{"GPU-1"}, 2),
                ElementsAre("GPU-1", "GPU-0"));
}

TEST(Prefer, AmongEqualSetsTheOneThatLeavesTheBestRest) {
    // One GPU wanted: taking 2 leaves the linked pair 0-1 whole.
    const std::vector<std::vector<gpu::LinkScore>> links{{0, 100, 10}, {100, 0, 10}, {10, 10, 0}};
    const Ids available{"GPU-0", "GPU-1", "GPU-2"};
    EXPECT_THAT(prefer(resource(3, 1), links, kDistributed, available, {}, 1),
                ElementsAre("GPU-2"));
}

TEST(Prefer, SixteenEqualGpusGiveTheLowestIndices) {
    Ids available;
    for (int i = 15; i >= 0; --i) available.push_back("GPU-" + std::to_string(i));
    EXPECT_THAT(prefer(resource(16, 1), {}, kDistributed, available, {}, 2),
                ElementsAre("GPU-0", "GPU-1"));
}

TEST(Prefer, ForeignIdsAreAnsweredWithWhatIsKnown) {
    const Ids available{"nonsense", "GPU-0::0", "GPU-0::0", "::", ""};
    EXPECT_THAT(prefer(resource(1, 2), {}, kDistributed, available, Ids{"gone::1"}, 5),
                ElementsAre("GPU-0::0"));
    EXPECT_THAT(prefer(resource(1, 2), {}, kDistributed, available, {}, 0), IsEmpty());
}

}  // namespace
}  // namespace aliquot::sharing
