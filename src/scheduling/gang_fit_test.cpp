// SPDX-License-Identifier: Apache-2.0
#include "scheduling/gang_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "scheduling/books.h"

namespace aliquot::scheduling {
namespace {

using Kind = Decision::Kind;
using testing::HasSubstr;

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr char kRack[] = "example.com/rack";

ServedNode node(const std::string& name, unsigned gpus, const std::string& rack = {}) {
    ServedNode made{.name = name, .is_open = true, .cpu_milli = 64'000, .memory_mib = 262'144};
    made.labels["kubernetes.io/hostname"] = name;
    if (!rack.empty()) made.labels[kRack] = rack;
    for (unsigned i = 0; i < gpus; ++i)
        made.gpus.push_back({"GPU-" + name + "-" + std::to_string(i), {{kGpu, 1}}});
    return made;
}

GpuPod pod(const std::string& uid, unsigned count) {
    return {.uid = uid,
            .name_space = "team",
            .name = uid,
            .is_gated = true,
            .cpu_milli = 1000,
            .memory_mib = 1024,
            .devices = {{"main", kGpu, count}}};
}

GangAsk gang(const std::string& id, unsigned pods, unsigned count) {
    GangAsk ask{.id = id, .name = "gang team/" + id};
    for (unsigned i = 0; i < pods; ++i) {
        ask.pods.push_back(pod(id + "-" + std::to_string(i), count));
        ask.pods.back().gang = id;
    }
    return ask;
}

GangAsk in_one(GangAsk ask, const std::string& topology, bool is_required) {
    for (GpuPod& one : ask.pods)
        (is_required ? one.claim.required_topology : one.claim.preferred_topology) = topology;
    return ask;
}

std::set<std::string> nodes_of(const GangDecision& decision) {
    std::set<std::string> nodes;
    for (const Target& one : decision.targets) nodes.insert(one.node);
    return nodes;
}

void take(Books& books, const std::string& name, unsigned count) {
    GpuPod one = pod("held-" + name, count);
    one.node = name;
    one.is_gated = false;
    books.set_pod(one);
}

unsigned free_gpus(const Books& books) {
    unsigned free = 0;
    for (const GpuBooking& row : books.gpus()) free += row.free;
    return free;
}

TEST(FitGang, PlacesAllOrNone) {
    Books books;
    books.set_node(node("a", 4));
    books.set_node(node("b", 4));
    take(books, "a", 1);
    const GangDecision none = books.decide_gang(gang("big", 4, 2));
    EXPECT_EQ(none.kind, Kind::kWaits);
    EXPECT_THAT(none.why, HasSubstr("3 of 4 pods fit now"));
    EXPECT_EQ(std::count(none.fits.begin(), none.fits.end(), true), 3);
    EXPECT_EQ(free_gpus(books), 7U) << "nothing is kept";
    const GangDecision all = books.decide_gang(gang("fits", 3, 2));
    ASSERT_EQ(all.kind, Kind::kPlaced) << all.why;
    EXPECT_EQ(free_gpus(books), 1U);
    EXPECT_EQ(books.self_check(), "");
}

TEST(FitGang, TakesFewNodesAndTheSmallestThatWillDo) {
    Books books;
    for (const char* const name : {"a", "b", "c"}) books.set_node(node(name, 8));
    take(books, "b", 4);
    EXPECT_EQ(nodes_of(books.what_if_gang(gang("g", 2, 2))), std::set<std::string>{"b"});
    EXPECT_EQ(nodes_of(books.what_if_gang(gang("g", 4, 2))), std::set<std::string>{"a"});
    EXPECT_EQ(nodes_of(books.what_if_gang(gang("g", 6, 2))), (std::set<std::string>{"a", "b"}));
}

TEST(FitGang, StaysInOneDomainWhereItCanAndMustWhereItIsRequired) {
    Books books;
    for (const char* const name : {"a", "b"}) books.set_node(node(name, 4, "one"));
    for (const char* const name : {"c", "d"}) books.set_node(node(name, 4, "two"));
    take(books, "a", 4);
    const auto within = books.what_if_gang(in_one(gang("g", 8, 1), kRack, false));
    EXPECT_EQ(within.domain, "example.com/rack=two");
    EXPECT_EQ(nodes_of(within), (std::set<std::string>{"c", "d"}));
    take(books, "c", 1);
    EXPECT_EQ(books.what_if_gang(in_one(gang("g", 8, 1), kRack, false)).kind, Kind::kPlaced);
    const auto required = books.what_if_gang(in_one(gang("g", 8, 1), kRack, true));
    EXPECT_EQ(required.kind, Kind::kWaits) << required.why;
    EXPECT_THAT(required.why, HasSubstr("7 of 8 pods fit now"));
    const auto never = books.what_if_gang(in_one(gang("g", 9, 1), kRack, true));
    EXPECT_EQ(never.kind, Kind::kNever);
    EXPECT_THAT(never.why, HasSubstr("no example.com/rack has room for 8"));
    EXPECT_THAT(books.what_if_gang(in_one(gang("g", 2, 1), "no/such", true)).why,
                HasSubstr("has the label no/such"));
    GangAsk rejoin = in_one(gang("g", 1, 1), kRack, true);
    rejoin.near = {"b"};
    EXPECT_EQ(nodes_of(books.what_if_gang(rejoin)), std::set<std::string>{"b"});
}

TEST(FitGang, PutsOneOnEachNodeWhereItsPodsKeepApart) {
    Books books;
    for (const char* const name : {"a", "b", "c"}) books.set_node(node(name, 8));
    GangAsk ask = gang("g", 3, 1);
    for (GpuPod& one : ask.pods) one.is_apart = one.spreads = true;
    EXPECT_EQ(nodes_of(books.what_if_gang(ask)).size(), 3U);
    ask.pods.push_back(ask.pods.front());
    EXPECT_EQ(books.what_if_gang(ask).kind, Kind::kNever);
    GangAsk spread = gang("s", 4, 1);
    for (GpuPod& one : spread.pods) one.spreads = true;
    EXPECT_EQ(nodes_of(books.what_if_gang(spread)).size(), 3U);
}

TEST(FitGang, SaysWhenTheClusterIsTooSmall) {
    Books books;
    books.set_node(node("a", 4));
    const auto large = books.what_if_gang(gang("g", 5, 1));
    EXPECT_EQ(large.kind, Kind::kNever);
    EXPECT_THAT(large.why, HasSubstr("5 of its pods ask for 1 nvidia.com/gpu each"));
    GangAsk mixed = gang("g", 3, 1);
    mixed.pods.push_back(pod("big", 2));
    EXPECT_THAT(books.what_if_gang(mixed).why, HasSubstr("ask for 5 nvidia.com/gpu"));
}

TEST(FitGang, PlacesMembersOfDifferentShapesAndThoseThatNobodyServes) {
    Books books;
    books.set_node(node("a", 4));
    ServedNode special = node("b", 2);
    special.labels["disk"] = "fast";
    books.set_node(special);
    GangAsk ask = gang("g", 2, 1);
    ask.pods.push_back(pod("four", 4));
    ask.pods.push_back(pod("foreign", 1));
    ask.pods.back().devices.front().resource = "other.example/nic";
    // One of the small ones has to leave the large node, whichever comes first.
    const auto decision = books.decide_gang(ask);
    ASSERT_EQ(decision.kind, Kind::kPlaced) << decision.why;
    EXPECT_EQ(decision.targets[2].node, "a");
    EXPECT_EQ(decision.targets[3].node, "");
    EXPECT_EQ(free_gpus(books), 0U);
}

TEST(FitGang, KeepsNodesForTheFirstThatHasWaitedLong) {
    Books books;
    for (const char* const name : {"a", "b", "c"}) books.set_node(node(name, 2));
    take(books, "a", 1);
    take(books, "b", 1);
    take(books, "c", 2);
    const GangAsk ask = gang("g", 2, 2);
    EXPECT_EQ(books.keep_for_gang(ask), (std::set<std::string>{"a", "b"}));
    EXPECT_EQ(books.decide(pod("small", 1)).kind, Kind::kWaits);
    books.remove_pod("held-c");
    EXPECT_EQ(books.keep_for_gang(ask), (std::set<std::string>{"a", "b"})) << "nothing changes";
    EXPECT_EQ(books.decide(pod("small", 1)).kind, Kind::kPlaced);
    books.remove_pod("held-a");
    books.remove_pod("held-b");
    EXPECT_EQ(books.decide_gang(ask).kind, Kind::kPlaced);
    books.keep_only_for({});
    EXPECT_TRUE(books.keep_for_gang(gang("huge", 9, 2)).empty());
}

TEST(FitGang, TellsWhatHasToEndForTheFirstWithoutAPlace) {
    Books books;
    books.set_node(node("a", 2));
    books.set_node(node("b", 2));
    take(books, "a", 2);
    const GangAsk ask = gang("g", 2, 2);
    const auto decision = books.what_if_gang(ask);
    const auto misses = books.gang_misses(ask, decision, 5);
    ASSERT_FALSE(misses.empty());
    EXPECT_EQ(misses[0].node, "a");
    EXPECT_THAT(misses[0].ends, testing::ElementsAre("team/held-a"));
    EXPECT_EQ(free_gpus(books), 2U);
    // A pod that is made again is not told that the others of its gang should end.
    GpuPod peer = pod("peer", 2);
    peer.node = "b";
    peer.is_gated = false;
    peer.claim.key = "team/gang/g";
    books.set_pod(peer);
    GangAsk rejoin = gang("g", 1, 2);
    rejoin.pods.front().claim.key = "team/gang/g";
    const auto others = books.gang_misses(rejoin, books.what_if_gang(rejoin), 5);
    ASSERT_EQ(others.size(), 2U);
    EXPECT_THAT(others[0].ends, testing::ElementsAre("team/held-a"));
    EXPECT_THAT(others[1].ends, testing::IsEmpty());
}

/// Gangs of one shape: what fits is known by counting, so none waits that would fit, and none is placed in part.
TEST(FitGang, FindsAPlaceWhereverThereIsOne) {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        std::mt19937 random(seed);
        const auto number = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
        Books books;
        std::map<std::string, unsigned> free;
        const unsigned nodes = 1 + number(6);
        for (unsigned i = 0; i < nodes; ++i) {
            const std::string name = "n" + std::to_string(i);
            const unsigned gpus = 1 + number(8);
            books.set_node(node(name, gpus, number(2) == 0 ? "one" : "two"));
            const unsigned held = number(gpus + 1);
            if (held > 0) take(books, name, held);
            free[name] = gpus - held;
        }
        for (unsigned i = 0; i < 6; ++i) {
            const unsigned count = 1 + number(3);
            const GangAsk ask = gang("g" + std::to_string(i), 1 + number(6), count);
            unsigned room = 0;
            for (const auto& [name, gpus] : free) room += gpus / count;
            const auto decision = books.decide_gang(ask);
            ASSERT_EQ(decision.kind == Kind::kPlaced, room >= ask.pods.size())
                << seed << " " << decision.why;
            ASSERT_EQ(books.self_check(), "");
            ASSERT_EQ(books.overbooked(), 0U);
            if (decision.kind != Kind::kPlaced) continue;
            for (const Target& one : decision.targets) {
                ASSERT_EQ(one.units.at(kGpu).size(), count);
                ASSERT_GE(free[one.node], count);
                free[one.node] -= count;
            }
        }
        unsigned rest = 0;
        for (const auto& [name, gpus] : free) rest += gpus;
        ASSERT_EQ(free_gpus(books), rest);
    }
}

}  // namespace
}  // namespace aliquot::scheduling
