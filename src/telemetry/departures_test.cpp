// SPDX-License-Identifier: Apache-2.0
// GPU time of processes that end between two looks.
#include <gmock/gmock.h>

#include "telemetry/test_world.h"

namespace aliquot::telemetry {
namespace {

using ::testing::Optional;

constexpr std::uint64_t kSecond = 1'000'000'000;

class ChangingGpu : public ::testing::Test {
protected:
    void share(unsigned replicas) {
        world.offered["GPU-0"] = {.resource = "nvidia.com/gpu",
                                  .mechanism = grant::Mechanism::kTimeSlicing,
                                  .replicas = replicas};
    }
    TestWorld world;
};

TEST_F(ChangingGpu, WhatAProcessUsedUntilItsEndIsItsOwn) {
    share(2);
    world.hold("a", {"GPU-0::0"});
    world.hold("b", {"GPU-0::1"});
    world.processes[1] = {.pod = "a", .percent = 50};
    world.processes[2] = {.pod = "b", .percent = 20};
    world.second();
    world.seconds(2);
    world.processes.erase(1);  // after two thirds of a second
    world.let_go("a");
    world.gpu_percent = 53;
    Device device = world.second();
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.busy_ns, Optional(kSecond * 133 / 100));
    EXPECT_THAT(TestWorld::find(device, "b")->amounts.busy_ns, Optional(kSecond * 60 / 100));
    EXPECT_THAT(device.remainder.busy_ns, Optional(0U));
    world.gpu_percent = 25;  // the last sample that has something of it
    device = world.second();
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.busy_ns, Optional(kSecond * 138 / 100));
    EXPECT_TRUE(TestWorld::find(device, "a")->ended);
    EXPECT_EQ(TestWorld::find(device, "a")->amounts.memory_bytes, std::nullopt);
    world.gpu_percent = 60;  // what is used from now on without a process is nobody's
    device = world.second();
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.busy_ns, Optional(kSecond * 138 / 100));
    EXPECT_THAT(device.remainder.busy_ns, Optional(kSecond * 40 / 100));
}

TEST_F(ChangingGpu, WhoEndTogetherAreBookedByWhatTheyUsedBefore) {
    share(3);
    world.hold("a", {"GPU-0::0"});
    world.hold("b", {"GPU-0::1"});
    world.processes[1] = {.pod = "a", .percent = 60};
    world.processes[2] = {.pod = "b", .percent = 20};
    world.processes[3] = {.percent = 10};  // of the host
    world.second();
    world.second();
    world.processes.clear();
    world.gpu_percent = 45;
    const Device device = world.second();
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.busy_ns, Optional(kSecond * 90 / 100));
    EXPECT_THAT(TestWorld::find(device, "b")->amounts.busy_ns, Optional(kSecond * 30 / 100));
    EXPECT_THAT(device.remainder.busy_ns, Optional(kSecond * 15 / 100));
}

TEST_F(ChangingGpu, AContainerThatCameAndWentBetweenTwoLooksHasUsedWhatNobodyElseDid) {
    share(2);
    world.hold("old", {"GPU-0::0"});
    world.processes[1] = {.pod = "old", .percent = 20};
    world.second();
    world.seconds(5);
    world.hold("short", {"GPU-0::1"});
    world.gpu_percent = 60;
    Device device = world.second();
    EXPECT_THAT(TestWorld::find(device, "short")->amounts.busy_ns, Optional(kSecond * 40 / 100));
    EXPECT_THAT(TestWorld::find(device, "old")->amounts.busy_ns, Optional(kSecond * 120 / 100));
    world.gpu_percent.reset();
    world.seconds(20);
    world.gpu_percent = 60;  // it holds its share for long by now: who knows who that is
    device = world.second();
    EXPECT_THAT(TestWorld::find(device, "short")->amounts.busy_ns, Optional(kSecond * 40 / 100));
}

TEST_F(ChangingGpu, WhatADriverTellsOfAProcessThatHasEndedIsBooked) {
    share(2);
    world.hold("a", {"GPU-0::0"});
    world.hold("b", {"GPU-0::1"});
    world.processes[1] = {.pod = "a", .percent = 30};
    world.processes[2] = {.pod = "b", .percent = 30};
    world.second();
    world.second();
    world.processes.clear();
    world.told_of_ended = {{1, 10}, {2, 20}};
    world.gpu_percent = 30;
    const Device device = world.second();
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.busy_ns, Optional(kSecond * 40 / 100));
    EXPECT_THAT(TestWorld::find(device, "b")->amounts.busy_ns, Optional(kSecond * 50 / 100));
}

TEST_F(ChangingGpu, WhatGuardsMissIsNotOfWhoHasJustCome) {
    share(4);
    world.hold("guarded", {"GPU-0::0"});
    world.processes[1] = {.pod = "guarded", .percent = 50};
    world.processes[2] = {.percent = 1};  // of the host: so guards are not alone
    world.regions.push_back({.pod_namespace = "team",
                             .pod = "guarded",
                             .container = "main",
                             .resource = "nvidia.com/gpu"});
    world.regions[0].devices = {{.uuid = "GPU-0", .limits = {.cap_ppm = 500'000}}};
    world.second();
    world.regions[0].devices[0].gpu_ns += kSecond * 45 / 100;
    world.second();
    world.hold("new", {"GPU-0::1"});
    world.regions[0].devices[0].gpu_ns += kSecond * 45 / 100;
    const Device device = world.second();
    EXPECT_THAT(TestWorld::find(device, "new")->amounts.busy_ns, Optional(0U));
}

}  // namespace
}  // namespace aliquot::telemetry
