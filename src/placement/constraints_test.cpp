// SPDX-License-Identifier: Apache-2.0
// Selectors, taints, anti-affinity and gangs.
#include <gtest/gtest.h>

#include "placement/engine.h"
#include "sim/trace/published_scorer.h"

namespace aliquot::placement {
namespace {

NodeSpec node(const std::string& name, std::uint8_t gpus = 2) {
    return {.name = name,
            .cpu_milli = 16'000,
            .memory_mib = 65'536,
            .devices = gpus,
            .model = gpus > 0 ? "A2" : "",
            .device_mib = 16'384};
}

Request share(std::int32_t milli) {
    return {.cpu_milli = 1'000, .memory_mib = 1'024, .gpus = 1, .milli = milli};
}

class Constraints : public testing::TestWithParam<Policy> {
protected:
    void add(NodeSpec spec) { ASSERT_TRUE(engine_.add_node(std::move(spec)).ok()); }
    Engine engine_{Options{.policy = GetParam(), .published = sim::trace::published_scorer}};
};

TEST_P(Constraints, EverySelectorLabelMustBeThere) {
    add(node("plain"));
    NodeSpec labelled = node("labelled");
    labelled.labels = {{"zone", "a"}, {"disk", "ssd"}};
    add(labelled);
    Request request = share(100);
    request.selector = {{"zone", "a"}, {"disk", "ssd"}};
    EXPECT_EQ(engine_.place(request)->node, 1U);
    request.selector = {{"zone", "a"}, {"disk", "hdd"}};
    EXPECT_EQ(engine_.place(request).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(engine_.refusal(request).labels, 2U);
    EXPECT_FALSE(engine_.restore(request, {.node = 1, .devices = {0}}).ok());
}

TEST_P(Constraints, EveryTaintMustBeTolerated) {
    NodeSpec tainted = node("tainted");
    tainted.taints = {{"team", "vision"}, {"spot", "yes"}};
    add(tainted);
    Request request = share(100);
    EXPECT_FALSE(engine_.place(request).ok());
    request.tolerations = {{"team", "vision"}};
    EXPECT_FALSE(engine_.place(request).ok());
    request.tolerations = {{"team", "speech"}, {"spot", "*"}};
    EXPECT_FALSE(engine_.place(request).ok());
    request.tolerations = {{"team", "vision"}, {"spot", "*"}};
    EXPECT_TRUE(engine_.place(request).ok());
}

TEST_P(Constraints, TheSameWordNeverSharesANode) {
    for (const char* name : {"a", "b", "c"}) add(node(name));
    Request request = share(100);
    request.anti_affinity = "replica";
    const auto first = engine_.place(request);
    const auto second = engine_.place(request);
    const auto third = engine_.place(request);
    ASSERT_TRUE(first.ok() && second.ok() && third.ok());
    EXPECT_EQ(first->node + second->node + third->node, 3U);
    EXPECT_EQ(engine_.place(request).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(engine_.refusal(request).affinity, 3U);
    EXPECT_TRUE(engine_.place(share(100)).ok());  // others do not care
    EXPECT_EQ(engine_.move(first->id, *second).error().code, ErrorCode::kConflict);
    EXPECT_EQ(engine_.restore(request, *second).error().code, ErrorCode::kConflict);
    ASSERT_TRUE(engine_.release(second->id).ok());
    EXPECT_EQ(engine_.place(request)->node, second->node);
}

TEST_P(Constraints, ATaskMayMoveOnItsOwnNode) {
    add(node("a"));
    Request request = share(600);
    request.anti_affinity = "replica";
    const auto placed = engine_.place(request);
    ASSERT_TRUE(placed.ok());
    Placement to = *placed;
    to.devices[0] = static_cast<std::uint8_t>(1 - to.devices[0]);
    EXPECT_TRUE(engine_.move(placed->id, to).ok());
    EXPECT_EQ(engine_.placement_of(placed->id)->devices, to.devices);
}

TEST_P(Constraints, AGangIsPlacedWholeOrNotAtAll) {
    for (const char* name : {"a", "b"}) add(node(name));
    ASSERT_TRUE(engine_.place(share(300)).ok());
    const NodeState before[] = {engine_.state(0), engine_.state(1)};
    const auto refused = engine_.place_gang({.gpus = 1, .milli = 1000}, 4);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message,
              "gang of 4, after 3: no node of 2 has room for 0 milli CPU, 0 MiB, 1 x 1000 milli "
              "GPU");
    EXPECT_EQ(engine_.state(0), before[0]);
    EXPECT_EQ(engine_.state(1), before[1]);
    EXPECT_EQ(engine_.live(), 1U);
    EXPECT_EQ(engine_.self_check(), "");
    const auto gang = engine_.place_gang({.gpus = 1, .milli = 1000}, 3);
    ASSERT_TRUE(gang.ok());
    EXPECT_EQ(gang->size(), 3U);
    EXPECT_EQ((*gang)[0].id, 2U);  // the refused gang used up no ids
    EXPECT_EQ(engine_.live(), 4U);
}

TEST_P(Constraints, AGangInsideAMarkIsUndoneWithIt) {
    add(node("a", 8));
    const Mark mark = engine_.mark();
    ASSERT_TRUE(engine_.place_gang(share(500), 5).ok());
    EXPECT_FALSE(engine_.place_gang({.gpus = 8, .milli = 1000}, 2).ok());
    EXPECT_EQ(engine_.live(), 5U);
    engine_.undo_to(mark);
    engine_.commit();
    EXPECT_EQ(engine_.live(), 0U);
    EXPECT_EQ(engine_.free_milli(), 8'000);
}

TEST_P(Constraints, AGangHasALimit) {
    add(node("a", 0));
    const auto refused = engine_.place_gang({}, kMostGang + 1);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "gang of 4097: expected at most 4096");
    EXPECT_TRUE(engine_.place_gang({}, 0)->empty());
}

INSTANTIATE_TEST_SUITE_P(Policies, Constraints,
                         testing::Values(Policy::kAliquot, Policy::kFgd, Policy::kClustering,
                                         Policy::kRandom));

}  // namespace
}  // namespace aliquot::placement
