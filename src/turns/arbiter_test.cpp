// SPDX-License-Identifier: Apache-2.0
// What containers of many kinds get, in simulated time.
#include "turns/arbiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

#include "abi/turns.h"
#include "turns/arbiter_world.h"

namespace aliquot::turns {
namespace {

TEST(Arbiter, TwoThatAlwaysHaveWorkGetTheirWeights) {
    for (const std::uint64_t first : {kMs / 10, 5 * kMs, 60 * kMs}) {
        for (const std::uint64_t second : {kMs / 10, 5 * kMs, 20 * kMs}) {
            for (const unsigned weight : {5U, 30U}) {
                World world({{.weight = weight, .kernel_ns = first},
                             {.weight = 100 - weight, .kernel_ns = second}});
                world.run(15);
                EXPECT_NEAR(world.share(0), weight, 1.5) << first << " ns, " << second << " ns";
                EXPECT_NEAR(world.share(0) + world.share(1), 100, 0.1);
            }
        }
    }
}

TEST(Arbiter, ThoseThatWaitForEachLaunchGetTheirWeightsToo) {
    for (const std::uint64_t kernel : {kMs / 10, kMs, 3 * kMs, 5 * kMs, 10 * kMs}) {
        World world(
            {{.kind = Kind::kWaiting, .weight = 30, .kernel_ns = kernel, .gap_ns = 40'000},
             {.kind = Kind::kWaiting, .weight = 70, .kernel_ns = kernel, .gap_ns = 40'000}});
        world.run(15);
        EXPECT_NEAR(world.share(0), 30, 1.5) << kernel;
        EXPECT_NEAR(world.share(1), 70, 1.5) << kernel;
    }
}

TEST(Arbiter, OneAloneHasItWithoutBeingTold) {
    World world({{.weight = 30}, {.kind = Kind::kIdle, .weight = 70}});
    world.run(5);
    EXPECT_GT(world.share(0), 99.9);
    EXPECT_EQ(world[0].turns, 1U);
    EXPECT_EQ(world.arbiter().word(world[0].id, kStart + 5'000 * kMs) & ~(~0U << 8U),
              abi::kTurnMine);
}

TEST(Arbiter, WhoComesBackGetsNoMoreThanACredit) {
    World world({{.weight = 50}, {.kind = Kind::kIdle, .weight = 50}});
    world.run(10);
    const std::uint64_t before = world[0].had_ns;
    world[1].kind = Kind::kBusy;
    world.run(1);
    const auto had = static_cast<double>(world[0].had_ns - before) / kMs;
    EXPECT_NEAR(had, 500, 40);
}

TEST(Arbiter, WhoUsesLessThanItsShareWaitsForNoQuantum) {
    // 5 ms of work and 5 ms of rest, with two thirds of the device: what it has to wait for is what
    // the other has in flight.
    World world({{.kind = Kind::kWaiting, .weight = 70, .kernel_ns = 5 * kMs, .gap_ns = 5 * kMs},
                 {.weight = 30, .kernel_ns = kMs}});
    world.run(15);
    EXPECT_GT(world.share(0), 100.0 * 5 / (5 + 5 + 2));
    EXPECT_GT(world.share(1), 45);
}

TEST(Arbiter, RestIsNotHeldAgainstWhoeverHasTheTurn) {
    World world({{.kind = Kind::kWaiting, .weight = 50, .gap_ns = 60'000 * kMs},
                 {.kind = Kind::kIdle, .weight = 50}});
    world.run(10);
    const std::uint64_t before = world[0].had_ns;
    world[0].gap_ns = 0;
    world[1].kind = Kind::kBusy;
    world.run(1);
    EXPECT_NEAR(static_cast<double>(world[0].had_ns - before) / kMs, 500, 40);
}

TEST(Arbiter, WhoDoesNotGiveItsTurnBackLosesItAndPaysForIt) {
    constexpr std::array kHostile = {Kind::kGreedy,  Kind::kRestless, Kind::kReturner,
                                     Kind::kHasty,   Kind::kFalseEnd, Kind::kSilent,
                                     Kind::kAnything};
    for (unsigned i = 0; i < 2 * kHostile.size(); ++i) {
        World world({{.weight = 30}, {.weight = 70}, {.kind = kHostile[i / 2], .weight = 50}});
        // Also where the next is told long before the end.
        const bool early = i % 2 == 1;
        if (early) world.arbiter().set_wake_time(400'000);
        world.run(30);
        // No less than by weight, and between each other as if nobody else were there.
        EXPECT_GE(world.ran(0), 20.0 - 1);
        EXPECT_GE(world.ran(1), 46.6 - 1);
        EXPECT_LE(world.ran(2), 33.4 + 1);
        EXPECT_NEAR(100 * world.ran(0) / (world.ran(0) + world.ran(1)), 30, early ? 2 : 1);
        EXPECT_LE(world.longest_ns(), Arbiter::kQuantum + Arbiter::kMostBusy + Arbiter::kOverdue +
                                          Arbiter::kMostLead + 2 * kStep);
    }
}

TEST(Arbiter, AnyNumberOfThoseMovesNoShareOfTheOthers) {
    World world({{.weight = 30},
                 {.weight = 70},
                 {.kind = Kind::kGreedy, .weight = 25},
                 {.kind = Kind::kGreedy, .weight = 25},
                 {.kind = Kind::kRestless, .weight = 25},
                 {.kind = Kind::kReturner, .weight = 25},
                 {.kind = Kind::kAnything, .weight = 50}});
    world.run(60);
    EXPECT_GE(world.share(0), 12 - 1);
    EXPECT_GE(world.share(1), 28 - 1);
    EXPECT_NEAR(100 * world.share(0) / (world.share(0) + world.share(1)), 30, 1);
}

/// One that answers a request of half a millisecond each 10 ms, beside `count` hostile ones.
World requests_beside(Kind hostile, unsigned count) {
    std::vector<Simulated> tenants(1 + count, {.kind = hostile, .weight = 16});
    tenants[0] = {.kind = Kind::kWaiting, .weight = 16, .kernel_ns = kMs / 2, .gap_ns = 10 * kMs};
    return World(std::move(tenants));
}

TEST(Arbiter, WhoNeverGivesItsTurnBackDelaysNobodyFromItsFirstTurnOn) {
    constexpr std::array kHostile = {Kind::kGreedy, Kind::kRestless, Kind::kHasty,
                                     Kind::kSilent, Kind::kFalseEnd, Kind::kAnything};
    for (const Kind hostile : kHostile) {
        for (const unsigned count : {1U, 8U}) {
            World world = requests_beside(hostile, count);
            world.run(10);
            EXPECT_GT(world[0].waits_ns.size(), 10 * 70U) << static_cast<int>(hostile) << count;
            EXPECT_LE(world.most_wait_ns(0), 3 * kMs / 2)
                << static_cast<int>(hostile) << ' ' << count;
            // Sorted: the last one is the longest. At first all have had nothing.
            EXPECT_LE(world[0].waits_ns.back(), 5 * kMs) << static_cast<int>(hostile) << count;
        }
    }
}

TEST(Arbiter, TurnsThatGoBackAtOnceEarnNoTrust) {
    World world = requests_beside(Kind::kReturner, 8);
    world.run(10);
    for (unsigned i = 1; i <= 8; ++i) world[i].kind = Kind::kGreedy;
    world[0].waits_ns.clear();
    world.run(4);
    EXPECT_LE(world.most_wait_ns(0), 2 * kMs);
    EXPECT_LE(world[0].waits_ns.back(), 5 * kMs);
}

TEST(Arbiter, WhoEarnsTrustToBreakItDelaysOneRequestOfAHundred) {
    World world = requests_beside(Kind::kBusy, 8);
    std::size_t waits = 0;
    std::size_t long_waits = 0;
    for (unsigned round = 0; round < 6; ++round) {
        // As long as it takes to be trusted, then for some turns not to be trusted with anything.
        for (unsigned i = 1; i <= 8; ++i) world[i].kind = Kind::kBusy;
        world.run(15);
        for (unsigned i = 1; i <= 8; ++i) world[i].kind = Kind::kSilent;
        world.run(1);
        waits += world[0].waits_ns.size();
        long_waits += static_cast<std::size_t>(std::ranges::count_if(
            world[0].waits_ns, [](std::uint64_t wait) { return wait > 9 * kMs; }));
        world[0].waits_ns.clear();
    }
    EXPECT_LT(100 * long_waits, waits);
}

TEST(Arbiter, WhoWasStoppedOnceIsBelievedAgain) {
    World world({{.weight = 50, .kernel_ns = 3 * kMs}, {.weight = 50, .kernel_ns = kMs}});
    world.run(1);
    for (unsigned i = 0; i < 4; ++i) {
        world[0].kind = Kind::kSilent;
        world.run(0.2);
        world[0].kind = Kind::kBusy;
        world.run(0.01);
    }
    world.run(10);
    const unsigned turns = world[0].turns;
    const std::uint64_t had = world[0].had_ns;
    world.run(10);
    // Turns of a whole quantum, as before.
    EXPECT_NEAR(static_cast<double>(world[0].had_ns - had) / kMs, 5'000, 100);
    EXPECT_LE(world[0].turns - turns, 5'000 / 8 + 10U);
}

TEST(Arbiter, WhoWouldGetItsTurnAgainGoesOnWithIt) {
    // For each kernel of 20 ms the other one has 47 ms, in turns of up to three quanta.
    World world({{.weight = 30, .kernel_ns = 20 * kMs}, {.weight = 70, .kernel_ns = kMs / 10}});
    world.run(4);
    const auto grants = [&] {
        return world.arbiter().word(world[1].id, kStart) >> abi::kTurnGrantShift;
    };
    const unsigned before = grants();
    world.run(20);
    EXPECT_LE(grants() - before, 20'000 / 67 * 2 + 10U);
    // Killed within such a turn, it costs no more than that.
    world[1].kind = Kind::kSilent;
    world[0].waits_ns.clear();
    world.run(1);
    std::ranges::sort(world[0].waits_ns);
    EXPECT_LE(world[0].waits_ns.back(),
              Arbiter::kQuantum + Arbiter::kMostAhead + Arbiter::kPatience + 2 * kMs);
}

TEST(Arbiter, KernelsThatOutliveATurnAreCharged) {
    World world({{.weight = 50, .kernel_ns = 300 * kMs}, {.weight = 50, .kernel_ns = kMs}});
    world.run(60);
    // It runs on for 172 ms after it has lost its turn, and the other one's turns are no use then.
    EXPECT_LT(world.share(0), 32);
}

TEST(Arbiter, ADeadHolderCostsOneTurn) {
    World world({{.kind = Kind::kDead, .weight = 70}, {.weight = 30}});
    world.run(1);
    EXPECT_EQ(world[0].turns, 1U);
    EXPECT_LE(world[0].had_ns, Arbiter::kQuantum + Arbiter::kOverdue + 2 * kStep);
    EXPECT_GT(world.share(1), 95);
}

TEST(Arbiter, ATurnPassesOnWhenItsContainerIsRemoved) {
    World world({{.weight = 70}, {.weight = 30}});
    world.run(1);
    Arbiter& arbiter = world.arbiter();
    const unsigned holder = arbiter.holder();
    arbiter.remove(holder);
    arbiter.decide(kStart + 1001 * kMs);
    EXPECT_NE(arbiter.holder(), holder);
    EXPECT_FALSE(arbiter.is_empty());
    arbiter.remove(1 - holder);
    EXPECT_TRUE(arbiter.is_empty());
}

TEST(Arbiter, ANewWeightHoldsFromNowOn) {
    World world({{.weight = 30}, {.weight = 70}});
    world.run(10);
    const std::uint64_t before = world[0].had_ns;
    world.arbiter().set_weight(world[0].id, 70);
    world.arbiter().set_weight(world[1].id, 30);
    world.run(10);
    EXPECT_NEAR(static_cast<double>(world[0].had_ns - before) / (100 * kMs), 70, 1);
}

TEST(Arbiter, AWishIsAnsweredOnce) {
    Arbiter arbiter;
    const unsigned one = arbiter.add(1);
    const unsigned other = arbiter.add(1);
    const auto given_back = [&](unsigned tenant, std::uint64_t now) {
        return arbiter.word(tenant, now) >> abi::kTurnGrantShift;
    };
    arbiter.see(one, {.asked = 5}, kStart);
    arbiter.decide(kStart);
    ASSERT_EQ(arbiter.holder(), one);
    // The number that is still there when the turn is given back is no new demand.
    const std::uint32_t ones = given_back(one, kStart);
    arbiter.see(one, {.asked = 5, .done = ones}, kStart + kMs);
    arbiter.see(other, {.asked = 9}, kStart + kMs);
    arbiter.decide(kStart + kMs);
    ASSERT_EQ(arbiter.holder(), other);
    EXPECT_EQ(arbiter.word(other, kStart + kMs) & abi::kTurnWanted, 0U);
    const std::uint32_t others = given_back(other, kStart + kMs);
    arbiter.see(one, {.asked = 5, .done = ones}, kStart + 20 * kMs);
    arbiter.see(other, {.asked = 9, .done = others}, kStart + 20 * kMs);
    arbiter.decide(kStart + 20 * kMs);
    EXPECT_EQ(arbiter.holder(), other);
    arbiter.see(one, {.asked = 6, .done = ones}, kStart + 20 * kMs + kMs / 5);
    arbiter.decide(kStart + 20 * kMs + kMs / 5);
    EXPECT_NE(arbiter.word(other, kStart + 20 * kMs + kMs / 5) & abi::kTurnWanted, 0U);
}

TEST(Arbiter, TheNextIsToldTheEarlierTheSlowerThreadsWake) {
    constexpr std::uint64_t kEnd = 12 * kMs;  // of the holder's work
    const auto told_before_the_end = [](std::uint64_t wake_ns) {
        // Of two that are known one goes, and a new one comes.
        World world({{.kernel_ns = kEnd}, {.kernel_ns = kEnd}});
        world.run(1);
        Arbiter& arbiter = world.arbiter();
        arbiter.set_wake_time(wake_ns);
        const unsigned one = 1 - arbiter.holder();
        arbiter.remove(1 - one);
        const unsigned other = arbiter.add(1);
        const std::uint64_t begin = kStart + 1000 * kMs;
        std::uint64_t at = 0;
        for (; at < 2 * kEnd && arbiter.holder() != other; at += 10'000) {
            const std::uint64_t now = begin + at;
            arbiter.see(one, {.asked = 1, .busy_until_ns = begin + kEnd}, now);
            if (at != 0) arbiter.see(other, {.asked = static_cast<std::uint32_t>(at)}, now);
            arbiter.decide(now);
        }
        return static_cast<std::int64_t>(kEnd) - static_cast<std::int64_t>(at);
    };
    EXPECT_NEAR(static_cast<double>(told_before_the_end(0)), Arbiter::kLeastLead, 20'000);
    EXPECT_NEAR(static_cast<double>(told_before_the_end(400'000)), 850'000, 20'000);
    EXPECT_NEAR(static_cast<double>(told_before_the_end(100 * kMs)), Arbiter::kMostLead, 20'000);
}

TEST(Arbiter, SaysWhenItHasToLookAgain) {
    Arbiter arbiter;
    const unsigned one = arbiter.add(1);
    const unsigned other = arbiter.add(1);
    arbiter.decide(kStart);
    EXPECT_EQ(arbiter.next_look(kStart), 0U);
    arbiter.see(one, {.asked = 1}, kStart);
    arbiter.decide(kStart);
    EXPECT_EQ(arbiter.next_look(kStart), kStart + Arbiter::kRecent);
    arbiter.see(other, {.asked = 1}, kStart + kMs / 5);
    arbiter.decide(kStart + kMs / 5);
    EXPECT_LE(arbiter.next_look(kStart + kMs / 5), kStart + Arbiter::kQuantum);
    EXPECT_TRUE(arbiter.is_lively(kStart + kMs / 5));
    EXPECT_FALSE(arbiter.is_lively(kStart + kMs / 5 + Arbiter::kStillWaiting));
}

}  // namespace
}  // namespace aliquot::turns
