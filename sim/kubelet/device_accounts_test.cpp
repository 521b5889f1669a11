// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/device_accounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kGpu = "nvidia.com/gpu";

TEST(DeviceAccounts, TakeEveryListAsTheWholeList) {
    DeviceAccounts accounts;
    accounts.replace(kGpu, {{.id = "a"}, {.id = "b", .healthy = false}});
    EXPECT_THAT(accounts.healthy(kGpu), ElementsAre("a"));
    EXPECT_THAT(accounts.unhealthy(kGpu), ElementsAre("b"));
    accounts.replace(kGpu, {{.id = "b"}});
    EXPECT_THAT(accounts.healthy(kGpu), ElementsAre("b"));
    EXPECT_THAT(accounts.unhealthy(kGpu), IsEmpty());
}

TEST(DeviceAccounts, KeepWhatPodsHoldWhenDevicesFailOrGo) {
    DeviceAccounts accounts;
    accounts.replace(kGpu, {{.id = "a"}, {.id = "b"}});
    accounts.record("pod", "main", kGpu, {"a"}, "answer");
    accounts.mark_unhealthy(kGpu);
    EXPECT_THAT(accounts.healthy(kGpu), IsEmpty());
    EXPECT_THAT(accounts.unhealthy(kGpu), ElementsAre("a", "b"));
    EXPECT_THAT(accounts.in_use(kGpu), ElementsAre("a"));
    accounts.drop(kGpu);
    EXPECT_FALSE(accounts.registered(kGpu));
    EXPECT_THAT(accounts.in_use(kGpu), ElementsAre("a"));
    EXPECT_TRUE(accounts.forget("pod"));
    EXPECT_FALSE(accounts.forget("pod"));
    EXPECT_THAT(accounts.in_use(kGpu), IsEmpty());
}

TEST(DeviceAccounts, NoteADeviceUnderEachOfItsNumaNodes) {
    DeviceAccounts accounts;
    accounts.replace(kGpu, {{.id = "a", .numa_nodes = {0, 1}}, {.id = "b"}});
    accounts.record("pod", "main", kGpu, {"a", "b"}, "");
    const auto* allocation = accounts.allocation("pod", "main", kGpu);
    ASSERT_NE(allocation, nullptr);
    EXPECT_THAT(allocation->ids_by_numa.at(0), ElementsAre("a"));
    EXPECT_THAT(allocation->ids_by_numa.at(1), ElementsAre("a"));
    EXPECT_THAT(allocation->ids_by_numa.at(kNoNumaNode), ElementsAre("b"));
    EXPECT_THAT(allocation->ids(), ElementsAre("a", "b"));
}

TEST(DeviceAccounts, ReadBackKnowResourcesButNoDevices) {
    DeviceAccounts before;
    before.replace(kGpu, {{.id = "a"}});
    before.record("pod", "main", kGpu, {"a"}, "answer");
    DeviceAccounts after;
    after.restore(before.checkpoint());
    EXPECT_TRUE(after.registered(kGpu));
    EXPECT_THAT(after.healthy(kGpu), IsEmpty());
    EXPECT_THAT(after.in_use(kGpu), ElementsAre("a"));
    EXPECT_EQ(after.allocation("pod", "main", kGpu)->response, "answer");
}

}  // namespace
}  // namespace aliquot::sim
