// SPDX-License-Identifier: Apache-2.0
//
// Hanging, lost and failing GPUs, reloaded and absent drivers: what nvml::Meters makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tests/contract/metered_world.h"

namespace aliquot {
namespace {

using contract::MeteredWorld;
using gpu::Metric;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

/// Asks until it is so; half a minute at most.
bool becomes(const std::function<bool()>& so) {
    for (int i = 0; i < 3000; ++i) {
        if (so()) return true;
        std::this_thread::sleep_for(10ms);
    }
    return false;
}

TEST(Meters, LetAHangingGpuKeepOnlyItselfWaiting) {
    MeteredWorld world("a2:3");
    for (const auto& reading : world.look()) ASSERT_TRUE(reading);
    ASSERT_TRUE(world.node().inject(1, sim::FaultKind::kHang, 0));
    world.set_deadline(3s);  // enough for the others on a busy machine
    for (int i = 0; i < 3; ++i) {
        const auto readings = world.look();
        EXPECT_TRUE(readings[0]);
        EXPECT_TRUE(readings[2]);
        ASSERT_FALSE(readings[1]);
        EXPECT_EQ(readings[1].error().code, ErrorCode::kUnavailable);
        EXPECT_THAT(readings[1].error().message, HasSubstr("hangs"));
    }
    world.set_deadline(30s);
    world.meters().release();  // what hangs cannot give it back, and delays nobody
    EXPECT_TRUE(world.look(0));
    ASSERT_TRUE(world.node().inject(1, sim::FaultKind::kClear, 0));
    EXPECT_TRUE(becomes([&] { return world.look(1).ok(); }));
}

TEST(Meters, EndWhileAGpuHangs) {
    MeteredWorld world("a2:2");
    ASSERT_TRUE(world.look(0));
    ASSERT_TRUE(world.node().inject(0, sim::FaultKind::kHang, 3000));
    world.set_deadline(200ms);
    EXPECT_FALSE(world.look(0));
}

TEST(Meters, TellALostGpuAndFindItAgain) {
    MeteredWorld world("a2:3");
    for (const auto& reading : world.look()) ASSERT_TRUE(reading);
    ASSERT_TRUE(world.node().inject(1, sim::FaultKind::kLost, 0));
    for (int i = 0; i < 2; ++i) {
        const auto readings = world.look();
        EXPECT_TRUE(readings[0]);
        EXPECT_TRUE(readings[2]);
        ASSERT_FALSE(readings[1]);
        EXPECT_EQ(readings[1].error().code, ErrorCode::kUnavailable);
        EXPECT_THAT(readings[1].error().message, HasSubstr("lost"));
    }
    ASSERT_TRUE(world.node().inject(1, sim::FaultKind::kClear, 0));
    EXPECT_TRUE(becomes([&] { return world.look(1).ok(); }));
}

TEST(Meters, NameTheErrorOfAFailingGpu) {
    MeteredWorld world("a2:2");
    for (const auto& reading : world.look()) ASSERT_TRUE(reading);
    ASSERT_TRUE(world.node().inject(0, sim::FaultKind::kCallError, 999));
    const auto readings = world.look();
    ASSERT_FALSE(readings[0]);
    EXPECT_EQ(readings[0].error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(readings[0].error().message, HasSubstr("999"));
    EXPECT_TRUE(readings[1]);
}

TEST(Meters, KnowNoOtherGpus) {
    MeteredWorld world("a2:1");
    const gpu::MeterQuestion question{{"GPU-00000000-0000-0000-0000-000000000000"}, {}};
    const auto answers = world.meters().read({&question, 1}, 30s);
    ASSERT_EQ(answers.size(), 1U);
    ASSERT_FALSE(answers[0]);
    EXPECT_EQ(answers[0].error().code, ErrorCode::kNotFound);
    EXPECT_THAT(world.meters().read({}, 30s), IsEmpty());
}

TEST(Meters, GiveTheDriverBackAndTakeItAgain) {
    MeteredWorld world("a2:2");
    ASSERT_TRUE(world.driver().enumerate());
    ASSERT_TRUE(world.look(0));
    world.set_deadline(30s);
    world.meters().release();
    // Only whoever initialises the library anew sees that it does not fit the driver.
    ASSERT_TRUE(world.node().inject(0, sim::FaultKind::kDriverMismatch, 0));
    const auto refused = world.look(0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_FALSE(world.driver().enumerate()) << "the hold is one for all";
    ASSERT_TRUE(world.node().inject(0, sim::FaultKind::kClear, 0));
    EXPECT_TRUE(world.look(0));
    EXPECT_TRUE(world.driver().enumerate());
}

TEST(Meters, StandAResetOfAGpuByTheDriver) {
    MeteredWorld world("a100-40:1");
    ASSERT_TRUE(world.driver().enumerate());
    ASSERT_TRUE(world.look(0));
    const auto change = world.driver().set_mode(world.uuid(0), true);
    ASSERT_TRUE(change) << change.error().message;
    ASSERT_TRUE(world.driver().enumerate());
    ASSERT_TRUE(world.look(0));
    const auto done = world.driver().reset(world.uuid(0), {});
    ASSERT_TRUE(done) << done.error().message;
    const auto reading = world.look(0);
    ASSERT_TRUE(reading) << reading.error().message;
    EXPECT_FALSE(reading->metrics.get(Metric::kGpuBusyPercent)) << "it is in MIG mode now";
}

TEST(Meters, SayThatTheNodeIsGone) {
    MeteredWorld world("a2:1");
    ASSERT_TRUE(world.look(0));
    ASSERT_TRUE(sim::Node::destroy(world.directory()));
    const auto reading = world.look(0);
    ASSERT_FALSE(reading);
    EXPECT_EQ(reading.error().code, ErrorCode::kUnavailable);
}

TEST(DeferredMeters, ComeWithTheDriver) {
    const os::TemporaryDirectory scratch;
    const os::Root root;
    const auto directory = scratch.path() / "node";
    nvml::DeferredMeters meters(root, {.driver_root = directory.native()}, 0ms);
    const gpu::MeterQuestion nobody{{"GPU-1"}, {}};
    const auto early = meters.read({&nobody, 1}, 30s);
    ASSERT_FALSE(early.at(0));
    EXPECT_EQ(early[0].error().code, ErrorCode::kUnavailable);
    meters.release();
    const auto node = sim::Node::create(directory, {.gpus = {{.model = "a2"}}},
                                        contract::fs::path(ALIQUOT_SIM_DIR) / "libnvidia-ml.so.1",
                                        contract::fs::path(ALIQUOT_SIM_DIR) / "nvidia-smi");
    ASSERT_TRUE(node) << node.error().message;
    ::dlopen((directory / "lib/libnvidia-ml.so.1").c_str(), RTLD_NOW | RTLD_NODELETE);
    const gpu::MeterQuestion question{{node->gpus().front().uuid}, {}};
    const auto reading = meters.read({&question, 1}, 30s);
    ASSERT_TRUE(reading.at(0)) << reading[0].error().message;
    meters.release();
}

}  // namespace
}  // namespace aliquot
