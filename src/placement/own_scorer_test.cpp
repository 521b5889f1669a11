// SPDX-License-Identifier: Apache-2.0
// Every term of our own score on a cluster small enough to see what is right.
#include <gtest/gtest.h>

#include "placement/engine.h"
#include "placement/random_cluster.h"

namespace aliquot::placement {
namespace {

using Devices = std::vector<std::uint8_t>;

NodeSpec node(const std::string& name, std::uint8_t gpus, const std::string& model = "A2") {
    return {.name = name,
            .cpu_milli = 64'000,
            .memory_mib = 262'144,
            .devices = gpus,
            .model = gpus > 0 ? model : "",
            .device_mib = 16'384};
}

Request share(std::int32_t milli, std::int32_t mib = 0) {
    return {.cpu_milli = 1'000, .gpus = 1, .milli = milli, .mib = mib};
}
Request whole(std::uint8_t gpus) { return {.cpu_milli = 1'000, .gpus = gpus, .milli = kWholeGpu}; }

class OwnScore : public testing::Test {
protected:
    void add(NodeSpec spec) { ASSERT_TRUE(engine_.add_node(std::move(spec)).ok()); }
    void take(const Request& request, NodeId id, Devices devices) {
        ASSERT_TRUE(engine_.restore(request, {.node = id, .devices = std::move(devices)}).ok());
    }
    Engine engine_;
};

TEST_F(OwnScore, KeepsRareModelsForThoseThatNeedThem) {
    add(node("t4", 1, "T4"));
    add(node("a2", 1));
    Request only = share(500);
    only.models = {"T4"};
    engine_.set_workload({{only, 0.5}, {share(500), 0.5}});
    EXPECT_EQ(engine_.place(share(500))->node, 1U);
    EXPECT_EQ(engine_.place(only)->node, 0U);
}

TEST_F(OwnScore, KeepsANodeOfEightGpusWhole) {
    add(node("whole", 8));
    add(node("used", 8));
    take(whole(1), 1, {0});
    engine_.set_workload({{whole(8), 0.25}, {whole(1), 0.75}});
    for (int i = 0; i < 7; ++i) EXPECT_EQ(engine_.place(whole(1))->node, 1U);
    EXPECT_EQ(engine_.place(whole(8))->node, 0U);
}

TEST_F(OwnScore, FillsAHoleWithTheTaskThatFitsIt) {
    add(node("a", 4));
    take(share(810), 0, {2});
    engine_.set_workload({{share(190), 0.25}, {share(810), 0.25}, {whole(1), 0.5}});
    EXPECT_EQ(engine_.place(share(190))->devices, (Devices{2}));
    EXPECT_EQ(engine_.place(share(190))->devices, (Devices{0}));
}

TEST_F(OwnScore, SeesThatComputeWithoutMemoryIsOfNoUse) {
    // Both nodes have a device with 600 milli free; on the second its memory is nearly gone, so
    // that the tasks to come cannot use it: a task with little memory belongs there.
    add(node("memory-left", 1));
    add(node("memory-gone", 1));
    take(share(400, 1'024), 0, {0});
    take(share(400, 14'336), 1, {0});
    engine_.set_workload({{share(300, 6'144), 1}});
    EXPECT_EQ(engine_.place(share(300, 1'024))->node, 1U);
    EXPECT_EQ(engine_.place(share(300, 6'144))->node, 0U);
    EXPECT_EQ(engine_.place(share(300, 6'144))->node, 0U);
    EXPECT_EQ(engine_.place(share(300, 6'144)).error().code, ErrorCode::kUnavailable);
}

TEST_F(OwnScore, TakesRequestsByMemoryAlone) {
    add(node("a", 2));
    engine_.set_workload({{{.gpus = 1, .mib = 8'192}, 0.5}, {whole(1), 0.5}});
    const Request half{.gpus = 1, .mib = 8'192};
    EXPECT_EQ(engine_.place(half)->devices, engine_.place(half)->devices);
    EXPECT_TRUE(engine_.place(whole(1)).ok());
    EXPECT_FALSE(engine_.place(half).ok());
}

TEST_F(OwnScore, KeepsMigDevicesOpenForLargeInstances) {
    ASSERT_TRUE(engine_.add_geometry(seven_slices("A100")).ok());
    NodeSpec spec = node("mig", 2, "A100");
    spec.device_mib = 81'920;
    spec.mig_devices = 3;
    add(spec);
    const Request small{.gpus = 1, .mig_profile = "1g.10gb"};
    const Request large{.gpus = 1, .mig_profile = "3g.40gb"};
    const Request all{.gpus = 1, .mig_profile = "7g.80gb"};
    engine_.set_workload({{small, 0.25}, {large, 0.5}, {all, 0.25}});
    const auto first = engine_.place(large);
    const auto second = engine_.place(large);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(first->devices, second->devices);
    EXPECT_NE(first->mig_start, second->mig_start);
    EXPECT_TRUE(engine_.place(all).ok());
    EXPECT_EQ(engine_.self_check(), "");
}

TEST_F(OwnScore, SmallMigInstancesStayOnOneHalf) {
    ASSERT_TRUE(engine_.add_geometry(seven_slices("A100")).ok());
    NodeSpec spec = node("mig", 1, "A100");
    spec.mig_devices = 1;
    add(spec);
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(engine_.place({.gpus = 1, .mig_profile = "1g.10gb"}).ok());
    EXPECT_TRUE(engine_.what_if({.gpus = 1, .mig_profile = "3g.40gb"}).ok());
}

TEST_F(OwnScore, WakesTheCheaperNode) {
    NodeSpec dear = node("dear", 1);
    dear.milli_price_per_hour = 30'000;
    NodeSpec cheap = node("cheap", 1);
    cheap.milli_price_per_hour = 3'000;
    add(dear);
    add(cheap);
    const auto best = engine_.alternatives(whole(1), 2);
    ASSERT_EQ(best.size(), 2U);
    EXPECT_EQ(best[0].node, 1U);
    EXPECT_EQ(best[0].cost.price, 60);  // 20 milli per currency unit and hour
    EXPECT_EQ(best[1].cost.price, 600);
}

TEST_F(OwnScore, PrefersANodeThatIsAwakeAndChargesItNothing) {
    NodeSpec asleep = node("asleep", 2);
    asleep.idle_watts = 1'000;
    NodeSpec awake = node("awake", 2);
    awake.idle_watts = 1'000;
    add(asleep);
    add(awake);
    take(whole(1), 1, {0});
    const auto best = engine_.alternatives(whole(1), 2);
    ASSERT_EQ(best.size(), 2U);
    EXPECT_EQ(best[0].node, 1U);
    EXPECT_EQ(best[0].cost.power, 0);
    EXPECT_EQ(best[1].cost.power, 250);  // a quarter milli per watt
}

TEST_F(OwnScore, TakesLinkedGpusTogether) {
    NodeSpec spec = node("a", 8);
    for (unsigned i = 0; i < 8; ++i) spec.link_group[i] = static_cast<std::uint8_t>(i / 2);
    add(spec);
    take(share(100), 0, {0});
    // 1 is alone in its group, so two GPUs come from the next group and one from group 0.
    EXPECT_EQ(engine_.what_if(whole(2))->devices, (Devices{2, 3}));
    EXPECT_EQ(engine_.what_if(whole(1))->devices, (Devices{1}));
    EXPECT_EQ(engine_.place(whole(4))->devices, (Devices{2, 3, 4, 5}));
    EXPECT_EQ(engine_.place(whole(3))->devices, (Devices{1, 6, 7}));
}

TEST_F(OwnScore, TermsAddUpToTheTotal) {
    Dice dice(4);
    ASSERT_TRUE(engine_.add_geometry(seven_slices("A100")).ok());
    for (unsigned i = 0; i < 20; ++i) add(random_node(dice, i));
    engine_.set_workload(random_workload(dice));
    for (unsigned i = 0; i < 200; ++i) {
        const auto placed = engine_.place(random_request(dice));
        if (!placed) continue;
        const Breakdown& cost = placed->cost;
        const std::int64_t sum =
            cost.fragmentation + cost.packing + cost.waste + cost.order + cost.price + cost.power;
        EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(cost.total), 7) << i;
    }
}

}  // namespace
}  // namespace aliquot::placement
