// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/published_scorer.h"

#include <gtest/gtest.h>

#include <set>

#include "placement/engine.h"

namespace aliquot::sim::trace {
namespace {

using namespace placement;  // NOLINT(google-build-using-namespace)

NodeSpec node(const std::string& name, std::uint8_t gpus, std::int32_t cpu = 64'000) {
    return {.name = name,
            .cpu_milli = cpu,
            .memory_mib = 262'144,
            .devices = gpus,
            .model = gpus > 0 ? "A2" : "",
            .device_mib = 16'384};
}

Request share(std::int32_t milli, std::int32_t cpu = 0) {
    return {.cpu_milli = cpu, .gpus = 1, .milli = milli};
}
Request whole(std::uint8_t gpus, std::int32_t cpu = 0) {
    return {.cpu_milli = cpu, .gpus = gpus, .milli = kWholeGpu};
}

Engine engine_of(Policy policy, const std::vector<NodeSpec>& nodes, std::uint64_t seed = 1) {
    Engine engine(Options{.policy = policy, .published = published_scorer, .seed = seed});
    for (const NodeSpec& spec : nodes) EXPECT_TRUE(engine.add_node(spec).ok());
    return engine;
}

TEST(BestFit, LeavesTheLeastCpuAndGpu) {
    Engine engine = engine_of(Policy::kBestFit, {node("large", 8), node("small", 2, 32'000)});
    const auto placed = engine.place(whole(1, 8'000));
    EXPECT_EQ(placed->node, 1U);
    // Left: 24 of 128 cores, 1 of 8 GPUs: 100 x (1 - 0.09375 - 0.0625) = 84.375.
    EXPECT_EQ(placed->cost.total, -84);
}

TEST(DotProduct, TakesTheLeastAlignedNode) {
    Engine engine = engine_of(Policy::kDotProduct, {node("large", 8, 128'000), node("small", 4)});
    const auto best = engine.alternatives(whole(4, 64'000), 2);
    ASSERT_EQ(best.size(), 2U);
    EXPECT_EQ(best[0].node, 1U);
    EXPECT_EQ(best[0].cost.total, -75);  // (0.5 x 0.5 + 0.5 x 0.5) / 2
    EXPECT_EQ(best[1].cost.total, -50);  // (1 x 0.5 + 1 x 0.5) / 2
}

TEST(Packing, PrefersUsedDevicesThenUsedNodesThenEmptyOnes) {
    Engine engine =
        engine_of(Policy::kPacking, {node("empty", 8), node("used", 2), node("part", 2)});
    ASSERT_TRUE(engine.restore(whole(1), {.node = 1, .devices = {0}}).ok());
    ASSERT_TRUE(engine.restore(share(600), {.node = 2, .devices = {0}}).ok());
    const auto best = engine.alternatives(share(300), 3);
    ASSERT_EQ(best.size(), 3U);
    EXPECT_EQ(best[0].node, 2U);
    EXPECT_EQ(best[0].cost.total, -96);  // 40 % of a device to spare
    EXPECT_EQ(best[1].node, 1U);
    EXPECT_EQ(best[1].cost.total, -49);  // opens one device
    EXPECT_EQ(best[2].node, 0U);
    EXPECT_EQ(best[2].cost.total, -25);  // 33 less 8 idle devices
}

TEST(Clustering, PutsLikeBesideLike) {
    Engine engine = engine_of(Policy::kClustering, {node("empty", 8), node("shares", 8),
                                                    node("mixed", 8), node("twos", 8)});
    ASSERT_TRUE(engine.restore(share(500), {.node = 1, .devices = {0}}).ok());
    ASSERT_TRUE(engine.restore(share(500), {.node = 2, .devices = {0}}).ok());
    ASSERT_TRUE(engine.restore(whole(2), {.node = 2, .devices = {1, 2}}).ok());
    ASSERT_TRUE(engine.restore(whole(2), {.node = 3, .devices = {0, 1}}).ok());
    const auto best = engine.alternatives(share(100), 4);
    ASSERT_EQ(best.size(), 4U);
    EXPECT_EQ(best[0].node, 1U);
    EXPECT_EQ(best[0].cost.total, -76);  // only shares: 75, and 25 x 0.5 / 8 cut to 1
    EXPECT_EQ(best[1].node, 2U);
    EXPECT_EQ(best[1].cost.total, -57);
    EXPECT_EQ(best[2].node, 0U);
    EXPECT_EQ(best[2].cost.total, -25);
    EXPECT_EQ(best[3].node, 3U);
    EXPECT_EQ(best[3].cost.total, -6);
}

TEST(Clustering, ForgetsTasksThatLeft) {
    Engine engine = engine_of(Policy::kClustering, {node("a", 8), node("b", 8)});
    const auto id = engine.restore(share(500), {.node = 1, .devices = {0}});
    ASSERT_TRUE(engine.release(*id).ok());
    EXPECT_EQ(engine.place(share(500))->node, 0U);
}

TEST(Spread, TakesTheNodeAndDeviceWithMostLeft) {
    Engine engine = engine_of(Policy::kSpread, {node("a", 2), node("b", 2)});
    EXPECT_EQ(engine.place(share(200))->node, 0U);
    EXPECT_EQ(engine.place(share(200))->node, 1U);
    const auto third = engine.place(share(200));
    EXPECT_EQ(third->node, 0U);
    EXPECT_EQ(third->devices, (std::vector<std::uint8_t>{1}));
}

TEST(Baselines, PutAShareOnTheTightestDevice) {
    for (const Policy policy : {Policy::kBestFit, Policy::kDotProduct, Policy::kPacking}) {
        Engine engine = engine_of(policy, {node("a", 4)});
        ASSERT_TRUE(engine.restore(share(300), {.node = 0, .devices = {1}}).ok());
        ASSERT_TRUE(engine.restore(share(600), {.node = 0, .devices = {2}}).ok());
        EXPECT_EQ(engine.place(share(400))->devices, (std::vector<std::uint8_t>{2}));
        EXPECT_EQ(engine.place(share(401))->devices, (std::vector<std::uint8_t>{1}));
    }
}

TEST(Random, ReachesEveryNodeAndRepeatsItselfWithTheSameSeed) {
    const std::vector<NodeSpec> nodes{node("a", 8), node("b", 8), node("c", 8), node("d", 8)};
    Engine one = engine_of(Policy::kRandom, nodes, 5);
    Engine same = engine_of(Policy::kRandom, nodes, 5);
    Engine other = engine_of(Policy::kRandom, nodes, 6);
    std::set<NodeId> met;
    unsigned differs = 0;
    for (unsigned i = 0; i < 40; ++i) {
        const auto placed = one.place(share(100));
        const auto again = same.place(share(100));
        EXPECT_EQ(placed->node, again->node);
        EXPECT_EQ(placed->devices, again->devices);
        differs += other.place(share(100))->node != placed->node ? 1U : 0U;
        met.insert(placed->node);
    }
    EXPECT_EQ(met.size(), 4U);
    EXPECT_GT(differs, 5U);
}

}  // namespace
}  // namespace aliquot::sim::trace
