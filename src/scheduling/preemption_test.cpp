// SPDX-License-Identifier: Apache-2.0
#include "scheduling/preemption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "scheduling/books.h"

namespace aliquot::scheduling {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr char kShare[] = "nvidia.com/gpu.shared";
constexpr char kHost[] = "kubernetes.io/hostname";
constexpr char kZone[] = "topology.kubernetes.io/zone";
constexpr char kNow[] = "2026-01-01T12:00:00Z";

ServedNode node(const std::string& name, const std::string& resource, unsigned gpus,
                unsigned units) {
    ServedNode made{.name = name, .is_open = true, .cpu_milli = 64'000, .memory_mib = 262'144};
    for (unsigned i = 0; i < gpus; ++i)
        made.gpus.push_back({"GPU-" + name + "-" + std::to_string(i), {{resource, units}}});
    made.on_one_gpu = {kShare};
    return made;
}

GpuPod pod(const std::string& name, const std::string& resource, unsigned count,
           std::int32_t priority) {
    return {.uid = name,
            .name_space = "team",
            .name = name,
            .is_gated = true,
            .priority = priority,
            .cpu_milli = 1000,
            .memory_mib = 1024,
            .devices = {{"main", resource, count}}};
}

/// A cluster whose pods are bound one after the other.
struct World {
    void hold(GpuPod made, const std::string& node, const std::string& since) {
        made.is_gated = false;
        made.node = node;
        made.bound_at = since;
        books.set_pod(made);
    }
    std::vector<std::string> victims(const GpuPod& asks, std::string* node = nullptr) {
        const auto found = books.preemption_for(asks, rules);
        if (!found) return {"nobody"};
        if (node != nullptr) *node = found->node;
        std::vector<std::string> names;
        for (const GpuPod& one : found->victims) names.push_back(one.name);
        std::sort(names.begin(), names.end());
        return names;
    }
    Books books;
    PreemptionRules rules{.bound_before = kNow};
};

TEST(Preemption, TakesTheFewestThenTheLeastThenTheLatest) {
    World world;
    world.books.set_node(node("a", kGpu, 2, 1));
    world.books.set_node(node("b", kGpu, 2, 1));
    world.hold(pod("a1", kGpu, 1, 0), "a", "2026-01-01T01:00:00Z");
    world.hold(pod("a2", kGpu, 1, 0), "a", "2026-01-01T01:00:00Z");
    world.hold(pod("b", kGpu, 2, 5), "b", "2026-01-01T01:00:00Z");
    std::string where;
    EXPECT_THAT(world.victims(pod("p", kGpu, 2, 10), &where), ElementsAre("b"));
    EXPECT_EQ(where, "b") << "one of a higher priority before two";
    EXPECT_THAT(world.victims(pod("p", kGpu, 2, 5)), ElementsAre("a1", "a2")) << "b is no lower";
    world.hold(pod("a2", kGpu, 1, 0), "a", "2026-01-01T01:00:00Z");
    EXPECT_THAT(world.victims(pod("p", kGpu, 1, 0)), ElementsAre("nobody"));
    World two;
    two.books.set_node(node("a", kGpu, 2, 1));
    two.hold(pod("old", kGpu, 1, 0), "a", "2026-01-01T01:00:00Z");
    two.hold(pod("new", kGpu, 1, 0), "a", "2026-01-01T02:00:00Z");
    EXPECT_THAT(two.victims(pod("p", kGpu, 1, 1)), ElementsAre("new")) << "less work is lost";
}

TEST(Preemption, MakesRoomOnOneGpuWhereTheSharesMustBeOfOne) {
    World world;
    world.books.set_node(node("a", kShare, 2, 8));
    // Each GPU has 6 of 8 units held: by 3 and 3, and by 2, 2 and 2.
    for (const auto& [name, units, gpu] : {std::tuple{"x1", 3U, "0"},
                                           {"x2", 3U, "0"},
                                           {"y1", 2U, "1"},
                                           {"y2", 2U, "1"},
                                           {"y3", 2U, "1"}}) {
        GpuPod one = pod(name, kShare, units, 0);
        one.plan = R"({"v":1,"gen":1,"ask":[],"nodes":[{"node":"a","units":{")" +
                   std::string(kShare) + R"(":{"GPU-a-)" + gpu + R"(":)" + std::to_string(units) +
                   "}}}]}";
        world.hold(one, "a", "2026-01-01T01:00:00Z");
    }
    EXPECT_THAT(world.victims(pod("p", kShare, 5, 1)).size(), 1U);
    EXPECT_THAT(world.victims(pod("p", kShare, 5, 1)), testing::Not(ElementsAre("y1")));
    EXPECT_THAT(world.victims(pod("p", kShare, 8, 1)), ElementsAre("x1", "x2"))
        << "two of one GPU, not three of the other";
}

TEST(Preemption, SparesGangsDaemonsTheYoungAndThoseWhoAreSpared) {
    World world;
    world.books.set_node(node("a", kGpu, 1, 1));
    const GpuPod asks = pod("p", kGpu, 1, 10);
    const auto with = [&](const std::function<void(GpuPod&)>& change) {
        World one;
        one.books.set_node(node("a", kGpu, 1, 1));
        GpuPod held = pod("h", kGpu, 1, 0);
        change(held);
        one.hold(held, "a", "2026-01-01T01:00:00Z");
        return one.victims(asks);
    };
    EXPECT_THAT(with([](GpuPod&) {}), ElementsAre("h"));
    EXPECT_THAT(with([](GpuPod& one) { one.claim.key = "team/gang/g"; }), ElementsAre("nobody"));
    EXPECT_THAT(with([](GpuPod& one) { one.stays_put = true; }), ElementsAre("nobody"));
    EXPECT_THAT(with([](GpuPod& one) { one.is_leaving = true; }), IsEmpty()) << "it goes anyway";
    world.hold(pod("h", kGpu, 1, 0), "a", "2026-01-01T11:59:00Z");
    world.rules.bound_before = "2026-01-01T11:50:00Z";
    EXPECT_THAT(world.victims(asks), ElementsAre("nobody")) << "it has run for a minute";
    world.rules.bound_before = kNow;
    EXPECT_THAT(world.victims(asks), ElementsAre("h"));
    world.rules.leaving = {"h"};
    EXPECT_THAT(world.victims(asks), IsEmpty());
    world.rules.await_leaving = false;
    EXPECT_THAT(world.victims(asks), ElementsAre("nobody")) << "once is enough";
    world.rules = {.bound_before = kNow, .spared = {"h"}};
    EXPECT_THAT(world.victims(asks), ElementsAre("nobody"));
    world.rules.spared.clear();
    GpuPod yields = asks;
    yields.may_preempt = false;
    EXPECT_THAT(world.victims(yields), ElementsAre("nobody"));
}

TEST(Preemption, CountsCpuAndFindsMoreThanTwo) {
    World world;
    ServedNode small = node("a", kGpu, 4, 1);
    small.cpu_milli = 4000;
    world.books.set_node(small);
    for (const char* const name : {"a", "b", "c", "d"})
        world.hold(pod(name, kGpu, 1, 0), "a", "2026-01-01T01:00:00Z");
    EXPECT_EQ(world.victims(pod("p", kGpu, 3, 1)).size(), 3U);
    GpuPod hungry = pod("p", kGpu, 1, 1);
    hungry.cpu_milli = 2000;
    EXPECT_EQ(world.victims(hungry).size(), 2U) << "one GPU would do, its CPU does not";
    hungry.cpu_milli = 5000;
    EXPECT_THAT(world.victims(hungry), ElementsAre("nobody"));
}

class PreemptionAmongOthers : public testing::Test {
protected:
    void SetUp() override {
        for (const char* const name : {"a", "b"}) {
            ServedNode made = node(name, kGpu, 2, 1);
            made.labels = {{kHost, name}, {kZone, "z"}};
            world_.books.set_node(made);
        }
    }
    static k8s::PodTerm beside(const std::string& app, const char* key) {
        return {.selector = k8s::LabelSelector{{.key = "app", .values = {app}}},
                .topology_key = key};
    }
    void hold(const std::string& name, const std::string& app, const std::string& node,
              std::int32_t priority = 0) {
        GpuPod made = pod(name, kGpu, 1, priority);
        made.labels = {{"app", app}};
        if (app == "port") made.affinity.ports = {{"", "TCP", 80}};
        world_.hold(made, node, "2026-01-01T01:00:00Z");
    }
    World world_;
    GpuPod asks_ = pod("p", kGpu, 1, 10);
};

TEST_F(PreemptionAmongOthers, WhoKeepsThePodOffGoesAndNotTheCheapest) {
    hold("cheap", "x", "a");
    hold("apart", "y", "a", 5);
    hold("b1", "y", "b", 20);
    hold("b2", "x", "b", 20);
    EXPECT_THAT(world_.victims(asks_), ElementsAre("cheap"));
    asks_.affinity.without = {beside("y", kHost)};
    EXPECT_THAT(world_.victims(asks_), ElementsAre("apart"));
    asks_.affinity.without = {beside("y", kZone)};
    EXPECT_THAT(world_.victims(asks_), ElementsAre("nobody")) << "b1 keeps it off the whole zone";
    asks_.affinity.without = {beside("y", kHost), beside("x", kHost)};
    EXPECT_THAT(world_.victims(asks_), ElementsAre("apart", "cheap"));
}

TEST_F(PreemptionAmongOthers, WhoHasThePortGoes) {
    hold("cheap", "x", "a");
    hold("port", "port", "a", 5);
    hold("b1", "port", "b", 20);
    hold("b2", "x", "b");
    asks_.affinity.ports = {{"", "TCP", 80}};
    EXPECT_THAT(world_.victims(asks_), ElementsAre("port")) << "on b it would still be taken";
    world_.rules.leaving = {"port"};
    EXPECT_THAT(world_.victims(asks_), IsEmpty());
}

TEST_F(PreemptionAmongOthers, ThePodThatItMustBeBesideStays) {
    hold("friend", "y", "a");
    hold("dear", "x", "a", 5);
    hold("b1", "x", "b");
    hold("b2", "x", "b");
    asks_.affinity.with = {beside("y", kHost)};
    EXPECT_THAT(world_.victims(asks_), ElementsAre("dear"));
    asks_.devices.front().count = 2;
    EXPECT_THAT(world_.victims(asks_), ElementsAre("nobody"));
}

TEST_F(PreemptionAmongOthers, TheSpreadThatIsRequiredStillHolds) {
    hold("a1", "y", "a");
    hold("a2", "y", "a", 20);
    hold("b1", "x", "b", 5);
    hold("b2", "x", "b", 5);
    asks_.labels = {{"app", "y"}};
    asks_.affinity.spread = {
        {.selector = k8s::LabelSelector{{.key = "app", .values = {"y"}}}, .topology_key = kHost}};
    EXPECT_THAT(world_.victims(asks_).front(), testing::StartsWith("b"))
        << "a would have two of them, b none";
    asks_.affinity.spread.front().is_required = false;
    EXPECT_THAT(world_.victims(asks_), ElementsAre("a1"));
}

TEST_F(PreemptionAmongOthers, TheNodeThatIsKeptForItIsAwaitedFirst) {
    hold("a1", "x", "a");
    hold("a2", "x", "a", 20);
    hold("b1", "x", "b");
    hold("b2", "x", "b", 20);
    world_.rules.leaving = {"a1", "b1"};
    std::string where;
    EXPECT_THAT(world_.victims(asks_, &where), IsEmpty());
    EXPECT_EQ(where, "a");
    world_.books.keep_node(asks_, "b");
    EXPECT_THAT(world_.victims(asks_, &where), IsEmpty());
    EXPECT_EQ(where, "b");
}

struct Held {
    GpuPod pod;
    std::string node;
};

/// Pods on the GPUs of two nodes, by chance.
std::vector<Held> random_pods(std::mt19937& random) {
    const auto below = [&](unsigned most) { return static_cast<unsigned>(random() % most); };
    std::map<std::string, unsigned> used;
    std::vector<Held> made;
    for (unsigned i = 0; i < 10; ++i) {
        const std::string where = below(2) == 0 ? "a" : "b";
        const std::string gpu = "GPU-" + where + "-" + std::to_string(below(2));
        const unsigned units = 1 + below(5);
        if (used[gpu] + units > 8) continue;
        used[gpu] += units;
        GpuPod one =
            pod("h" + std::to_string(i), kShare, units, static_cast<std::int32_t>(below(3)));
        one.labels = {{"app", below(4) == 0 ? "y" : "x"}};
        one.plan = R"({"v":1,"gen":1,"ask":[],"nodes":[{"node":")" + where + R"(","units":{")" +
                   std::string(kShare) + R"(":{")" + gpu + "\":" + std::to_string(units) + "}}}]}";
        made.push_back({one, where});
    }
    return made;
}

World world_of(const std::vector<Held>& pods, const std::set<std::string>& gone) {
    World world;
    for (const char* const name : {"a", "b"}) {
        ServedNode made = node(name, kShare, 2, 8);
        made.labels = {{kHost, name}};
        world.books.set_node(made);
    }
    for (const Held& one : pods) {
        if (!gone.contains(one.pod.uid)) world.hold(one.pod, one.node, "2026-01-01T01:00:00Z");
    }
    return world;
}

bool fits_when_gone(const std::vector<Held>& pods, const std::set<std::string>& gone,
                    const GpuPod& asks) {
    World world = world_of(pods, gone);
    return world.books.what_if(asks).kind == Decision::Kind::kPlaced;
}

/// Of one node; 3: no two are enough.
std::size_t fewest(const std::vector<Held>& pods, const GpuPod& asks) {
    std::size_t least = 3;
    for (const Held& a : pods) {
        for (const Held& b : pods) {
            if (a.node != b.node || std::max(a.pod.priority, b.pod.priority) >= asks.priority)
                continue;
            const std::set<std::string> gone = {a.pod.uid, b.pod.uid};
            if (gone.size() < least && fits_when_gone(pods, gone, asks)) least = gone.size();
        }
    }
    return least;
}

TEST(Preemption, IsEnoughAndTakesNoMoreThanAnyOtherWouldWhateverRuns) {
    std::mt19937 random(20260101);
    unsigned found_some = 0;
    for (unsigned round = 0; round < 150; ++round) {
        const auto pods = random_pods(random);
        GpuPod asks = pod("p", kShare, static_cast<unsigned>(3 + random() % 6), 2);
        if (random() % 2 == 0)
            asks.affinity.without = {
                {.selector = k8s::LabelSelector{{.key = "app", .values = {"y"}}},
                 .topology_key = kHost}};
        if (fits_when_gone(pods, {}, asks)) continue;
        const World world = world_of(pods, {});
        const auto found = world.books.preemption_for(asks, world.rules);
        const std::size_t least = fewest(pods, asks);
        if (!found) {
            EXPECT_EQ(least, 3U) << round;
            continue;
        }
        ++found_some;
        std::set<std::string> gone;
        for (const GpuPod& one : found->victims) {
            EXPECT_LT(one.priority, asks.priority) << round;
            EXPECT_EQ(one.node, found->node) << round;
            gone.insert(one.uid);
        }
        EXPECT_TRUE(fits_when_gone(pods, gone, asks)) << round;
        EXPECT_EQ(std::min<std::size_t>(gone.size(), 3), least) << round;
        for (const std::string& uid : gone) {
            std::set<std::string> without = gone;
            without.erase(uid);
            EXPECT_FALSE(fits_when_gone(pods, without, asks)) << round << ": " << uid << " in vain";
        }
    }
    EXPECT_GT(found_some, 50U) << "else the chances are chosen badly";
}

}  // namespace
}  // namespace aliquot::scheduling
