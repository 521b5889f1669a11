// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "scheduling/books.h"
#include "scheduling/plan.h"

namespace aliquot::scheduling {
namespace {

constexpr char kShare[] = "nvidia.com/gpu.shared";
constexpr char kWhole[] = "nvidia.com/gpu";

ServedNode shared_node(const std::string& name, unsigned gpus, unsigned units, bool mps = true) {
    ServedNode made{.name = name, .is_open = true, .cpu_milli = 64'000, .memory_mib = 262'144};
    for (unsigned i = 0; i < gpus; ++i)
        made.gpus.push_back({name + "-" + std::to_string(i), {{kShare, units}}});
    if (mps) made.on_one_gpu = {kShare};
    return made;
}

GpuPod asking(const std::string& uid, unsigned count, const std::string& resource = kShare) {
    return {.uid = uid,
            .name_space = "team",
            .name = uid,
            .cpu_milli = 100,
            .memory_mib = 128,
            .devices = {{"main", resource, count}}};
}

GpuPod seen_on(GpuPod pod, const std::string& node) {
    pod.node = node;
    return pod;
}

unsigned free_on(const Books& books, const std::string& gpu) {
    for (const GpuBooking& row : books.gpus()) {
        if (row.gpu == gpu) return row.free;
    }
    return 999;
}

TEST(Seats, WhatWasPlannedBecomesFinalAndTheOtherNodesAreFreeAgain) {
    Books books({.targets = 2});
    books.set_node(shared_node("a", 2, 4));
    books.set_node(shared_node("b", 2, 4));
    const auto decision = books.decide(asking("p", 2));
    ASSERT_EQ(decision.targets.size(), 2U);
    const Target& second = decision.targets[1];
    const Seat seat = books.bind(asking("p", 2), second.node);
    ASSERT_EQ(seat.kind, Seat::Kind::kGiven) << seat.why;
    EXPECT_EQ(seat.units, second.units);
    for (const std::string gpu : {"a-0", "a-1", "b-0", "b-1"}) {
        const bool is_its = second.units.at(kShare).contains(gpu);
        EXPECT_EQ(free_on(books, gpu), is_its ? 2U : 4U) << gpu;
    }
    EXPECT_EQ(books.bind(asking("p", 2), second.node).units, seat.units) << "asked again";
    EXPECT_EQ(books.self_check(), "");
}

TEST(Seats, AnOlderSightOfThePodTakesNothingFromIt) {
    Books books;
    books.set_node(shared_node("a", 1, 2));
    ASSERT_EQ(books.bind(asking("p", 2), "a").kind, Seat::Kind::kGiven);
    books.set_pod(asking("p", 2));  // without a node: its condition has changed, say
    EXPECT_EQ(books.bind(asking("q", 1), "a").kind, Seat::Kind::kNoRoom);
    books.set_pod(seen_on(asking("p", 2), "a"));
    books.take_back("p");  // too late: it is bound
    EXPECT_EQ(free_on(books, "a-0"), 0U);
    EXPECT_EQ(books.overbooked(), 0U);
}

TEST(Seats, OneThatWasNotBoundAfterAllIsFreeAgain) {
    Books books;
    books.set_node(shared_node("a", 1, 2));
    books.set_node(shared_node("b", 1, 2));
    ASSERT_EQ(books.bind(asking("p", 2), "a").kind, Seat::Kind::kGiven);
    ASSERT_EQ(books.bind(asking("p", 2), "b").kind, Seat::Kind::kGiven) << "the next try";
    EXPECT_EQ(free_on(books, "a-0"), 2U);
    books.take_back("p");
    EXPECT_EQ(free_on(books, "b-0"), 2U);
    EXPECT_EQ(books.self_check(), "");
}

TEST(Seats, NoRoomOnOneGpuIsToldAndChangesNothing) {
    Books books;
    books.set_node(shared_node("a", 2, 2));
    for (const std::string uid : {"p", "q"}) books.set_pod(seen_on(asking(uid, 1), "a"));
    // Shares go on GPUs in use first; the second pod is moved to the other GPU by its agent.
    ServedNode told = shared_node("a", 2, 2);
    told.granted["p"][kShare]["a-0"] = 1;
    told.granted["q"][kShare]["a-1"] = 1;
    books.set_node(told);
    const Seat seat = books.bind(asking("r", 2), "a");
    EXPECT_EQ(seat.kind, Seat::Kind::kNoRoom);
    EXPECT_EQ(seat.why,
              "has 2 nvidia.com/gpu.shared free, but at most 1 of one GPU, and 2 are asked");
    EXPECT_EQ(free_on(books, "a-0"), 1U);
    EXPECT_EQ(free_on(books, "a-1"), 1U);
    EXPECT_EQ(books.overbooked(), 0U);
    EXPECT_EQ(books.bind(asking("s", 1), "a").kind, Seat::Kind::kGiven);
    EXPECT_EQ(books.self_check(), "");
}

TEST(Seats, WhatIsOnlyPlannedGivesWayAndLooksForAnotherGpu) {
    Books books({.targets = 1});
    books.set_node(shared_node("a", 2, 2));
    const auto planned = books.decide(asking("planned", 1));
    ASSERT_EQ(planned.targets.size(), 1U);
    const std::string gpu = planned.targets[0].units.at(kShare).begin()->first;
    const std::string other = gpu == "a-0" ? "a-1" : "a-0";
    ASSERT_EQ(books.bind(asking("first", 2), "a").kind, Seat::Kind::kGiven);
    EXPECT_EQ(free_on(books, other), 0U) << "the one that nothing was planned for";
    const Seat second = books.bind(asking("second", 2), "a");
    EXPECT_EQ(second.kind, Seat::Kind::kGiven) << second.why;
    // Nothing is left of the node: the one that was planned is told so when it comes.
    EXPECT_EQ(books.bind(asking("planned", 1), "a").kind, Seat::Kind::kNoRoom);
    EXPECT_EQ(free_on(books, gpu), 0U);
}

TEST(Seats, AnIllGpuIsNotGivenThoughItWasPlanned) {
    Books books({.targets = 1});
    books.set_node(shared_node("a", 2, 2));
    const auto planned = books.decide(asking("p", 1));
    const std::string ill = planned.targets.at(0).units.at(kShare).begin()->first;
    ServedNode now = shared_node("a", 2, 2);
    std::erase_if(now.gpus, [&](const ServedGpu& one) { return one.uuid == ill; });
    books.set_node(now);
    const Seat seat = books.bind(asking("p", 1), "a");
    ASSERT_EQ(seat.kind, Seat::Kind::kGiven) << seat.why;
    EXPECT_FALSE(seat.units.at(kShare).contains(ill));
}

TEST(Seats, WhatOthersServeIsNotOurs) {
    Books books;
    books.set_node(shared_node("a", 1, 2));
    EXPECT_EQ(books.bind(asking("p", 1), "elsewhere").kind, Seat::Kind::kNotServed);
    EXPECT_EQ(books.bind(asking("p", 1, "example.com/nic"), "a").kind, Seat::Kind::kNotServed);
    GpuPod both = asking("both", 2);
    both.devices.push_back({"main", "example.com/nic", 1});
    const Seat seat = books.bind(both, "a");
    EXPECT_EQ(seat.kind, Seat::Kind::kGiven) << seat.why;
    EXPECT_EQ(seat.units.size(), 1U);
    GpuPod over = asking("over", 1);
    over.is_over = true;
    EXPECT_EQ(books.bind(over, "a").kind, Seat::Kind::kNotServed);
}

TEST(Seats, NodesAreJudgedByTheirGpusAlone) {
    Books books({.targets = 1});
    books.set_node(shared_node("a", 1, 2));
    books.set_node(shared_node("b", 1, 4));
    ServedNode full = shared_node("c", 1, 2);
    full.is_open = false;  // for kube-scheduler to say
    books.set_node(full);
    books.set_pod(seen_on(asking("p", 3), "b"));
    const std::vector<std::string> nodes{"a", "b", "c", "d"};
    using Kind = NodeVerdict::Kind;
    const auto kinds = [&](unsigned count) {
        std::vector<Kind> made;
        for (const NodeVerdict& one : books.judge(asking("q", count), nodes))
            made.push_back(one.kind);
        return made;
    };
    EXPECT_EQ(kinds(1), (std::vector{Kind::kFits, Kind::kFits, Kind::kFits, Kind::kNotOurs}));
    EXPECT_EQ(kinds(2), (std::vector{Kind::kFits, Kind::kNoRoom, Kind::kFits, Kind::kNotOurs}));
    EXPECT_EQ(kinds(3), (std::vector{Kind::kNever, Kind::kNoRoom, Kind::kNever, Kind::kNotOurs}));
    // What is kept for the pod itself is not in its way.
    ASSERT_EQ(books.decide(asking("r", 2)).targets.at(0).node, "a");
    EXPECT_EQ(books.judge(asking("r", 2), nodes)[0].kind, Kind::kFits);
    EXPECT_EQ(books.judge(asking("s", 2), nodes)[0].kind, Kind::kNoRoom);
}

TEST(Seats, CostsNameEveryNodeThatCouldTakeThePod) {
    Books books({.targets = 1});
    books.set_node(shared_node("a", 1, 4));
    books.set_node(shared_node("b", 1, 4));
    books.set_node(shared_node("full", 1, 4));
    books.set_pod(seen_on(asking("p", 4), "full"));
    books.set_pod(seen_on(asking("q", 3), "b"));
    const auto costs = books.costs(asking("r", 1));
    ASSERT_EQ(costs.size(), 2U);
    const std::string best = books.decide(asking("r", 1)).targets.at(0).node;
    EXPECT_LE(costs.at(best), costs.at(best == "a" ? "b" : "a")) << "as decide() chooses";
}

/// Whatever comes in whatever order: no GPU is given more than it has, and a pod that was given a seat keeps it.
TEST(Seats, NeverGiveAGpuTwiceWhateverComes) {
    for (const unsigned seed : {1U, 2U, 3U, 4U, 5U}) {
        std::mt19937 random(seed);
        const auto any = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
        Books books({.targets = 2});
        const std::vector<std::string> nodes{"a", "b", "c"};
        for (const std::string& name : nodes) books.set_node(shared_node(name, 3, 4));
        std::map<std::string, std::pair<std::string, DeviceUnits>> seated;  // by uid
        for (unsigned step = 0; step < 2'000; ++step) {
            const std::string uid = "p" + std::to_string(any(30));
            const GpuPod pod = asking(uid, 1 + static_cast<unsigned>(uid.size() + uid.back()) % 4);
            const std::string& node = nodes[any(3)];
            switch (any(6)) {
                case 0:
                    if (!seated.contains(uid)) (void)books.decide(pod);
                    break;
                case 1:
                    books.set_pod(seated.contains(uid) && any(2) == 0
                                      ? seen_on(pod, seated[uid].first)
                                      : pod);
                    break;
                case 2:
                    books.remove_pod(uid);
                    seated.erase(uid);
                    break;
                default: {
                    if (seated.contains(uid)) break;
                    const Seat seat = books.bind(pod, node);
                    if (seat.kind == Seat::Kind::kGiven) seated[uid] = {node, seat.units};
                }
            }
            std::map<std::string, unsigned> used;
            for (const auto& [one, seat] : seated) {
                for (const auto& [gpu, units] : seat.second.at(kShare)) used[gpu] += units;
            }
            for (const auto& [gpu, units] : used) {
                ASSERT_LE(units, 4U) << gpu << ", seed " << seed << ", step " << step;
                ASSERT_LE(free_on(books, gpu), 4U - units) << gpu;
            }
            if (step % 100 == 0) {
                ASSERT_EQ(books.self_check(), "") << seed << "/" << step;
            }
        }
    }
}

}  // namespace
}  // namespace aliquot::scheduling
