// SPDX-License-Identifier: Apache-2.0
// An engine at work while nodes, kinds of requests and the workload change.
#include <gtest/gtest.h>

#include <set>

#include "placement/engine.h"
#include "placement/random_cluster.h"
#include "placement/ranking.h"
#include "sim/trace/published_scorer.h"

namespace aliquot::placement {
namespace {

NodeSpec node(const std::string& name, std::uint8_t gpus = 2, const std::string& model = "A2") {
    return {.name = name,
            .cpu_milli = 16'000,
            .memory_mib = 65'536,
            .devices = gpus,
            .model = gpus > 0 ? model : "",
            .device_mib = 16'384};
}

Request share(std::int32_t milli) { return {.cpu_milli = 100, .gpus = 1, .milli = milli}; }
Request whole(std::uint8_t gpus) { return {.gpus = gpus, .milli = kWholeGpu}; }

TEST(Growth, ANewNodeIsUsedAtOnce) {
    Engine engine;
    ASSERT_TRUE(engine.add_node(node("a", 1)).ok());
    ASSERT_TRUE(engine.place(whole(1)).ok());
    EXPECT_FALSE(engine.place(whole(1)).ok());
    ASSERT_TRUE(engine.add_node(node("b", 1)).ok());
    EXPECT_EQ(engine.place(whole(1))->node, 1U);
    EXPECT_EQ(engine.self_check(), "");
    EXPECT_EQ(engine.capacity_milli(), 2'000);
}

TEST(Growth, ANewModelIsKnownToRequestsThatAskedForItBefore) {
    Engine engine;
    ASSERT_TRUE(engine.add_node(node("a")).ok());
    Request request = share(500);
    request.models = {"H100"};
    EXPECT_FALSE(engine.place(request).ok());
    ASSERT_TRUE(engine.add_node(node("b", 2, "H100")).ok());
    EXPECT_EQ(engine.refusal(request).model, 1U);
    EXPECT_TRUE(engine.restore(request, {.node = 1, .devices = {0}}).ok());
    EXPECT_EQ(engine.place(request)->node, 1U);
}

TEST(Growth, RefusesARankOrANameTwice) {
    Engine engine;
    NodeSpec spec = node("a");
    spec.rank = 1;
    ASSERT_TRUE(engine.add_node(spec).ok());
    spec.name = "b";
    EXPECT_EQ(engine.add_node(spec).error().message, "node b: rank 1 is taken");
    spec.name = "a";
    spec.rank = 2;
    EXPECT_EQ(engine.add_node(spec).error().message, "node a: given twice");
    spec.name = "c";
    EXPECT_TRUE(engine.add_node(spec).ok());
}

TEST(Growth, AskingInBetweenChangesNothing) {
    for (const bool asking : {false, true}) {
        static std::string first;
        Engine engine;
        Dice dice(9);
        std::string decisions;
        for (unsigned i = 0; i < 200; ++i) {
            if (i % 20 == 0) (void)engine.add_node(random_node(dice, i));
            if (i % 50 == 0) engine.set_workload(random_workload(dice));
            const Request request = random_request(dice);
            if (asking) {
                (void)engine.alternatives(share(100), 3);
                (void)engine.what_if(request);
                (void)engine.refusal(request);
                EXPECT_EQ(engine.self_check(), "");
            }
            if (i % 3 == 0) (void)engine.release(1 + dice.below(i + 1));
            const auto placed = engine.place(request);
            decisions += placed ? std::to_string(placed->node) + "/" +
                                      std::to_string(placed->cost.total) + " "
                                : "- ";
        }
        if (!asking) first = decisions;
        EXPECT_EQ(decisions, first);
    }
}

TEST(Growth, LearnsWhatArrives) {
    Engine engine(Options{.policy = Policy::kFgd,
                          .published = sim::trace::published_scorer,
                          .learn = true,
                          .learn_every = 10});
    ASSERT_TRUE(engine.add_node(node("a", 16)).ok());
    for (int i = 0; i < 20; ++i) (void)engine.place(share(250));
    ASSERT_EQ(engine.workload().size(), 1U);
    EXPECT_EQ(engine.workload()[0].request.milli, 250);
    for (int i = 0; i < 20; ++i) (void)engine.place(share(100));
    ASSERT_EQ(engine.workload().size(), 2U);
    EXPECT_NEAR(engine.workload()[0].popularity, 0.5, 0.01);
    EXPECT_EQ(engine.self_check(), "");
}

TEST(Growth, LearnsOnlyArrivalsThatWereNotUndone) {
    Engine engine(Options{.learn = true, .learn_every = 1});
    ASSERT_TRUE(engine.add_node(node("a", 8)).ok());
    (void)engine.place(share(250));
    const Mark mark = engine.mark();
    for (int i = 0; i < 30; ++i) (void)engine.place(share(100));
    engine.undo_to(mark);
    (void)engine.place(share(500));
    EXPECT_EQ(engine.workload().size(), 1U);
    engine.commit();
    EXPECT_EQ(engine.workload().size(), 2U);
    EXPECT_EQ(engine.live(), 2U);
}

TEST(Growth, LearnEveryZeroIsEveryArrival) {
    Engine engine(Options{.learn = true, .learn_every = 0});
    ASSERT_TRUE(engine.add_node(node("a")).ok());
    EXPECT_TRUE(engine.place(share(250)).ok());
    EXPECT_EQ(engine.workload().size(), 1U);
}

TEST(Growth, UndoesAcrossANewWorkload) {
    Engine engine;
    ASSERT_TRUE(engine.add_node(node("a", 8)).ok());
    engine.set_workload({{share(100), 0.5}, {share(200), 0.5}});
    const Mark mark = engine.mark();
    ASSERT_TRUE(engine.place(share(100)).ok());
    engine.set_workload({{share(100), 0.25}, {share(200), 0.25}, {share(300), 0.5}});
    ASSERT_TRUE(engine.place(share(200)).ok());
    engine.undo_to(mark);
    engine.commit();
    EXPECT_EQ(engine.free_milli(), 8'000);
    EXPECT_TRUE(engine.place(share(300)).ok());
    EXPECT_EQ(engine.self_check(), "");
}

TEST(Growth, ARefusedMoveChangesNoLaterDecision) {
    const auto run = [](bool tries) {
        Engine engine;
        Dice dice(2);
        for (unsigned i = 0; i < 8; ++i) (void)engine.add_node(random_node(dice, i));
        engine.set_workload(random_workload(dice));
        std::string decisions;
        for (unsigned i = 0; i < 300; ++i) {
            const auto placed = engine.place(random_request(dice));
            if (!placed) continue;
            decisions +=
                std::to_string(placed->node) + ":" + std::to_string(placed->cost.total) + " ";
            if (tries) {
                EXPECT_FALSE(engine.move(placed->id, {.node = 0, .devices = {99}}).ok());
            }
            if (i % 2 == 0) {
                EXPECT_TRUE(engine.release(placed->id).ok());
            }
        }
        return decisions;
    };
    EXPECT_EQ(run(false), run(true));
}

TEST(Growth, MoreKindsThanAreKeptAreStillServed) {
    Engine engine(Options{.policy = Policy::kBestFit, .published = sim::trace::published_scorer});
    ASSERT_TRUE(engine.add_node(node("a", 8)).ok());
    ASSERT_TRUE(engine.add_node(node("b", 8)).ok());
    const auto kind = [](std::int32_t i) {
        return Request{.cpu_milli = i, .gpus = 1, .milli = 500};
    };
    const Mark mark = engine.mark();
    std::vector<PlacementId> live;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(Ranking::kMostClasses) + 30; ++i) {
        const auto placed = engine.place(kind(i % 5'000));
        ASSERT_TRUE(placed.ok());
        live.push_back(placed->id);
        if (live.size() == 4) {
            ASSERT_TRUE(engine.release(live.front()).ok());
            live.erase(live.begin());
        }
    }
    EXPECT_EQ(engine.request_of(live[0])->cpu_milli,
              static_cast<std::int32_t>(Ranking::kMostClasses) + 27);
    EXPECT_EQ(engine.self_check(), "");
    engine.undo_to(mark);  // the log names kinds that nobody else does any more
    EXPECT_EQ(engine.live(), 0U);
    EXPECT_EQ(engine.free_milli(), 16'000);
    engine.commit();
    for (std::int32_t i = 0; i < 300; ++i) (void)engine.what_if(kind(10'000 + i));
    EXPECT_EQ(engine.self_check(), "");
    EXPECT_TRUE(engine.place(kind(1)).ok());
}

TEST(Growth, AlternativesAreDifferentNodesInALargeCluster) {
    Engine engine(Options{.policy = Policy::kRandom, .published = sim::trace::published_scorer});
    const unsigned count = Ranking::kScan + 200;
    for (unsigned i = 0; i < count; ++i)
        ASSERT_TRUE(engine.add_node(node("n" + std::to_string(i), i > count - 4 ? 1 : 0)).ok());
    for (unsigned i = 0; i < 3; ++i) {
        ASSERT_TRUE(engine.place(share(100)).ok());
        const auto found = engine.alternatives(share(100), 5);
        std::set<NodeId> nodes;
        for (const Placement& one : found) nodes.insert(one.node);
        EXPECT_EQ(nodes.size(), found.size());
        EXPECT_EQ(found.size(), 3U);
    }
}

}  // namespace
}  // namespace aliquot::placement
