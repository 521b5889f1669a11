// SPDX-License-Identifier: Apache-2.0
#include "scheduling/defrag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "scheduling/defrag_world.h"

namespace aliquot::scheduling::moving {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Defrag, ClearsTheGpuOfTheFewestPodsIntoTheFullest) {
    World world;
    world.add(node("a", kMps, 2, 8));
    world.add(node("b", kMps, 2, 8));
    world.hold(pod("a0", kMps, 6), "a", {{uuid("a", 0), 6}});
    world.hold(pod("a1", kMps, 2), "a", {{uuid("a", 1), 2}});
    world.hold(pod("b0", kMps, 3), "b", {{uuid("b", 0), 3}});
    world.hold(pod("b1", kMps, 3), "b", {{uuid("b", 0), 3}});
    world.rules.most_moves = 1;
    const DefragPlan plan = world.plan();
    EXPECT_THAT(told(plan), ElementsAre("a1: a -> a GPU-a-0, opens GPU-a-1"));
    EXPECT_EQ(plan.before, (WhollyFree{1, 0}));
    EXPECT_EQ(plan.after, (WhollyFree{2, 0}));
    world.rules.most_moves = 3;
    EXPECT_THAT(told(world.plan()),
                ElementsAre("a1: a -> a GPU-a-0, opens GPU-a-1", "b0: b -> a GPU-a-1",
                            "b1: b -> a GPU-a-1, opens GPU-b-0, and the node"))
        << "then whole nodes";
}

TEST(Defrag, ClearsANodeWhereThatCostsNoGpu) {
    World world;
    world.add(node("a", kWhole, 4, 1));
    world.add(node("b", kWhole, 4, 1));
    world.hold(pod("a0", kWhole, 2), "a", {{uuid("a", 0), 1}, {uuid("a", 1), 1}});
    world.hold(pod("b0", kWhole, 1), "b", {{uuid("b", 2), 1}});
    EXPECT_THAT(told(world.plan()), ElementsAre("b0: b -> a GPU-a-2, opens GPU-b-2, and the node"));
    // It may take a GPU where it opens one.
    World shares;
    shares.add(node("a", kMps, 2, 8));
    shares.add(node("b", kMps, 2, 8));
    shares.hold(pod("a0", kMps, 6), "a", {{uuid("a", 0), 6}});
    shares.hold(pod("b0", kMps, 6), "b", {{uuid("b", 0), 6}});
    EXPECT_THAT(told(shares.plan()),
                ElementsAre("a0: a -> b GPU-b-1, opens GPU-a-0, and the node"));
    EXPECT_EQ(shares.plan().after, (WhollyFree{2, 1}));
}

TEST(Defrag, MovesAllOfAGpuOrNobody) {
    World world;
    world.add(node("a", kMps, 1, 8));
    world.add(node("b", kMps, 1, 8));
    world.hold(pod("a0", kMps, 2), "a", {{uuid("a", 0), 2}});
    world.hold(pod("a1", kMps, 2), "a", {{uuid("a", 0), 2}});
    world.hold(pod("b0", kMps, 4), "b", {{uuid("b", 0), 4}});
    EXPECT_EQ(world.plan().moves.size(), 1U) << "the one of b, not the two of a";
    world.pods.back().movable = GpuPod::Movable::kNo;
    EXPECT_THAT(told(world.plan()), ElementsAre("a0: a -> b GPU-b-0",
                                                "a1: a -> b GPU-b-0, opens GPU-a-0, and the node"));
    world.rules.most_moves = 1;
    EXPECT_THAT(told(world.plan()), IsEmpty()) << "one of two wins nothing";
}

TEST(Defrag, SparesWhoIsToStayAndSaysWhy) {
    const auto why = [](const std::function<void(GpuPod&, MoveRules&)>& change) {
        World world;
        world.add(node("a", kMps, 1, 8));
        world.add(node("b", kMps, 1, 8));
        GpuPod one = pod("p", kMps, 2);
        one.labels = {{"app", "x"}};
        change(one, world.rules);
        world.hold(one, "a", {{uuid("a", 0), 2}});
        GpuPod other = pod("q", kMps, 4);
        other.owner.clear();
        world.hold(other, "b", {{uuid("b", 0), 4}});
        const DefragPlan plan = world.plan();
        if (!plan.moves.empty()) return std::string("moved");
        for (const auto& [reason, count] : plan.staying) {
            if (reason != "have no controller that makes them again") return reason;
        }
        return std::string("stays");
    };
    EXPECT_EQ(why([](GpuPod&, MoveRules&) {}), "moved");
    EXPECT_EQ(why([](GpuPod& one, MoveRules&) { one.owner.clear(); }), "stays");
    EXPECT_EQ(why([](GpuPod& one, MoveRules&) { one.claim.key = "g"; }), "are of gangs");
    EXPECT_EQ(why([](GpuPod& one, MoveRules&) { one.stays_put = true; }),
              "are of DaemonSets or of their node");
    EXPECT_EQ(why([](GpuPod& one, MoveRules&) { one.movable = GpuPod::Movable::kNo; }),
              "say that they are not to be moved");
    EXPECT_EQ(why([](GpuPod& one, MoveRules&) { one.is_of_job = true; }),
              "are of Jobs and do not say aliquot.dev/movable=true");
    EXPECT_EQ(why([](GpuPod& one, MoveRules&) {
                  one.is_of_job = true;
                  one.movable = GpuPod::Movable::kYes;
              }),
              "moved");
    EXPECT_EQ(why([](GpuPod& one, MoveRules&) { one.priority = 1; }), "have a priority above 0");
    EXPECT_EQ(why([](GpuPod& one, MoveRules&) { one.bound_at = kJustNow; }),
              "have not run for long enough");
    EXPECT_EQ(why([](GpuPod& one, MoveRules&) { one.plan.clear(); }),
              "were not placed by Aliquot, nor would those after them be");
    EXPECT_EQ(why([](GpuPod&, MoveRules& rules) { rules.spared["p"] = "are ours"; }), "are ours");
    EXPECT_EQ(why([](GpuPod&, MoveRules& rules) { rules.budgets = {budget("x", 0)}; }), "stays");
    EXPECT_EQ(why([](GpuPod&, MoveRules& rules) { rules.budgets = {budget("x", 1)}; }), "moved");
    EXPECT_EQ(why([](GpuPod&, MoveRules& rules) {
                  rules.budgets = {budget("x", 1), budget("x", 1)};
              }),
              "are under several PodDisruptionBudgets, which Kubernetes never lets go");
}

TEST(Defrag, GoesOnlyWhereThePodMayGo) {
    World world;
    world.add(node("a", kMps, 1, 8));
    world.add(node("b", kMps, 1, 8));
    world.hold(pod("p", kMps, 2), "a", {{uuid("a", 0), 2}});
    GpuPod stays = pod("q", kMps, 4);
    stays.priority = 5;
    stays.labels = {{"app", "q"}};
    world.hold(stays, "b", {{uuid("b", 0), 4}});
    ASSERT_EQ(world.plan().moves.size(), 1U);
    world.nodes.at("b").taints = {{.key = "k", .value = "", .effect = "NoSchedule"}};
    EXPECT_THAT(told(world.plan()), IsEmpty());
    world.nodes.at("b").taints.clear();
    world.nodes.at("b").cpu_milli = 1500;  // one of two is taken
    EXPECT_THAT(told(world.plan()), IsEmpty());
    world.nodes.at("b").cpu_milli = 64'000;
    world.pods.front().affinity.without = {apart_from("q")};
    EXPECT_THAT(told(world.plan()), IsEmpty()) << "it must not be beside it";
}

TEST(Defrag, LooksAtTheRulesThatTheOwnerWroteAndNotAtThoseOfThePlan) {
    World world;
    world.add(node("a", kMps, 1, 8));
    world.add(node("b", kMps, 1, 8));
    GpuPod one = pod("p", kMps, 2);
    one.plan = R"({"v":1,"gen":1,"ask":[],"nodes":[{"node":"a","units":{}}]})";
    one.where.node_name = "a";
    one.where.has_terms = true;
    one.where.terms = {{.labels = {}, .fields = {{.key = "metadata.name", .values = {"a"}}}}};
    world.hold(one, "a", {{uuid("a", 0), 2}});
    world.hold(pod("q", kMps, 4), "b", {{uuid("b", 0), 4}});
    world.pods.back().movable = GpuPod::Movable::kNo;
    EXPECT_EQ(world.plan().moves.size(), 1U);
    world.pods.front().where.labels = {{"disk", "fast"}};
    EXPECT_THAT(told(world.plan()), IsEmpty()) << "b has no such label";
}

TEST(Defrag, ComparesPodsOfOneGroupWithEachOther) {
    World world;
    world.add(node("a", kMps, 1, 8));
    world.add(node("b", kMps, 1, 8));
    for (const char* const name : {"p0", "p1"}) {
        world.hold(pod(name, kMps, 2), "a", {{uuid("a", 0), 2}});
        world.pods.back().labels = {{"app", "p"}};
    }
    world.hold(pod("q", kMps, 4), "b", {{uuid("b", 0), 4}});
    world.pods.back().movable = GpuPod::Movable::kNo;
    ASSERT_EQ(world.plan().moves.size(), 2U);
    world.pods.front().affinity.without = {apart_from("p")};
    EXPECT_THAT(told(world.plan()), IsEmpty()) << "they may not meet on b";
    EXPECT_EQ(world.plan().before, world.plan().after);
}

TEST(Defrag, TellsWhenAPlanHoldsNoMore) {
    World world;
    world.add(node("a", kMps, 1, 8));
    world.add(node("b", kMps, 1, 8));
    world.hold(pod("p", kMps, 2), "a", {{uuid("a", 0), 2}});
    world.hold(pod("q", kMps, 4), "b", {{uuid("b", 0), 4}});
    world.pods.back().priority = 1;
    const auto moves = world.plan().moves;
    ASSERT_EQ(moves.size(), 1U);
    Books same = world.books();
    EXPECT_EQ(same.replay(world.rules, moves).wrong, "");
    world.hold(pod("new", kMps, 3), "b", {{uuid("b", 0), 3}});
    Books fuller = world.books();
    EXPECT_EQ(fuller.replay(world.rules, moves).wrong, "team/p: b has no room for it");
    world.pods.pop_back();
    world.nodes.at("b").granted.erase("new");
    world.nodes.at("b").is_open = false;
    Books closed = world.books();
    EXPECT_EQ(closed.replay(world.rules, moves).wrong, "team/p: b is cordoned or not ready");
    world.pods.erase(world.pods.begin());
    Books gone = world.books();
    EXPECT_EQ(gone.replay(world.rules, moves).wrong, "team/p: it is no longer where it was");
}

}  // namespace
}  // namespace aliquot::scheduling::moving
