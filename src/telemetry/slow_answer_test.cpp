// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "telemetry/test_world.h"

namespace aliquot::telemetry {
namespace {

using ::testing::Optional;

// A driver goes on sampling while a question to it takes too long.
TEST(SlowAnswer, WhatWasUsedWhileLooksFailedIsCounted) {
    TestWorld world;
    world.offered["GPU-0"] = {
        .resource = "nvidia.com/gpu", .mechanism = grant::Mechanism::kTimeSlicing, .replicas = 2};
    world.hold("a", {"GPU-0::0"});
    world.processes[1] = {.pod = "a", .memory_mib = 5, .percent = 50};
    world.second();
    world.seconds(4);
    world.answers = false;
    world.seconds(5);
    world.answers = true;
    const Device device = world.second();
    EXPECT_THAT(device.total.busy_ns, Optional(5'000'000'000U));
    EXPECT_THAT(TestWorld::find(device, "a")->amounts.busy_ns, Optional(5'000'000'000U));
}

}  // namespace
}  // namespace aliquot::telemetry
