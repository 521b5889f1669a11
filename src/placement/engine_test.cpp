// SPDX-License-Identifier: Apache-2.0
#include "placement/engine.h"

#include <gtest/gtest.h>

namespace aliquot::placement {
namespace {

NodeSpec node(const std::string& name, std::uint8_t gpus, const std::string& model = "A2") {
    NodeSpec spec;
    spec.name = name;
    spec.cpu_milli = 16'000;
    spec.memory_mib = 65'536;
    spec.devices = gpus;
    spec.model = gpus > 0 ? model : "";
    spec.device_mib = 16'384;
    return spec;
}

Request share(std::int32_t milli, std::int32_t cpu = 1'000) {
    Request request;
    request.cpu_milli = cpu;
    request.memory_mib = 1'024;
    request.gpus = 1;
    request.milli = milli;
    return request;
}

TEST(Engine, TakesAndGivesBack) {
    Engine engine;
    ASSERT_TRUE(engine.add_node(node("a", 2)).ok());
    const NodeState before = engine.state(0);
    const auto placed = engine.place(share(400));
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(placed->id, 1U);
    EXPECT_EQ(engine.state(0).devices[placed->devices[0]].milli, 600);
    EXPECT_EQ(engine.free_milli(), 1'600);
    ASSERT_TRUE(engine.release(placed->id).ok());
    EXPECT_EQ(engine.state(0), before);
    EXPECT_EQ(engine.release(placed->id).error().code, ErrorCode::kNotFound);
}

TEST(Engine, ANodeWithoutGpusLetsNoGpuRequestOn) {
    Engine engine;
    ASSERT_TRUE(engine.add_node(node("cpu-only", 0)).ok());
    ASSERT_TRUE(engine.add_node(node("t4", 1, "T4")).ok());
    EXPECT_EQ(engine.admitted(share(500)), (std::vector<bool>{false, true}));
    EXPECT_EQ(engine.admitted(Request{.cpu_milli = 1}), (std::vector<bool>{true, true}));
    Request wanted = share(500);
    wanted.models = {"A2"};
    EXPECT_EQ(engine.admitted(wanted), (std::vector<bool>{false, false}));
}

TEST(Engine, SaysWhyNothingFits) {
    Engine engine;
    ASSERT_TRUE(engine.add_node(node("cpu-only", 0)).ok());
    ASSERT_TRUE(engine.add_node(node("t4", 1, "T4")).ok());
    ASSERT_TRUE(engine.add_node(node("a2", 1)).ok());
    ASSERT_TRUE(engine.place(share(700, 1'000)).ok());
    Request wanted = share(900);
    wanted.models = {"A2"};
    ASSERT_TRUE(engine.place(share(800)).ok());
    const auto refused = engine.place(wanted);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message,
              "no node of 3 has room for 1000 milli CPU, 1024 MiB, 1 x 900 milli GPU");
    const Refusal why = engine.refusal(wanted);
    EXPECT_EQ(why.model, 2U);
    EXPECT_EQ(why.gpu, 1U);
    EXPECT_EQ(why.nearest, 2U);
    EXPECT_TRUE(why.nearest_miss.starts_with("a2: needs ")) << why.nearest_miss;
}

}  // namespace
}  // namespace aliquot::placement
