// SPDX-License-Identifier: Apache-2.0
//
// What containers of many kinds get, in simulated time: steps of 20 us, no driver, no latency but the
// time that their work takes to end.
#include "turns/arbiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "abi/turns.h"

namespace aliquot::turns {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kStep = 20'000;
constexpr std::uint64_t kStart = 1'000 * 1'000 * kMs;

enum class Kind : std::uint8_t {
    kBusy,      // launches kernels of `kernel_ns` without a pause
    kWaiting,   // launches one, waits for it, and is at rest for `gap_ns`
    kIdle,      // never wants anything
    kGreedy,    // never gives back and says that it is busy for ever
    kRestless,  // the same, and says at each look that it rests
    kDead,      // takes one turn and is killed
    kReturner,  // gives its turn back the moment it has it and asks again
    kHasty,     // says all the time that its work ends in 150 us, which it does not
    kFalseEnd,  // the same, and then says that it has ended and asks again
    kSilent,    // asks, and answers nothing once it has its turn
    kAnything,  // writes any number into each word, all the time
};

struct Simulated {
    Kind kind = Kind::kBusy;
    unsigned weight = 1;
    std::uint64_t kernel_ns = kMs;
    std::uint64_t gap_ns = 0;
    std::uint64_t busy_until = 0;  // a kernel runs
    std::uint64_t idle_until = 0;
    unsigned id = 0;
    Wants wants;
    std::uint64_t had_ns = 0;  // of turns
    std::uint64_t ran_ns = 0;  // the same, and of work beyond them
    unsigned turns = 0;
};

class World {
public:
    explicit World(std::vector<Simulated> tenants) : tenants_(std::move(tenants)) {
        for (Simulated& one : tenants_) one.id = arbiter_.add(one.weight);
    }

    void run(double seconds) {
        const auto end = now_ + static_cast<std::uint64_t>(seconds * 1000) * kMs;
        for (; now_ < end; now_ += kStep) {
            for (Simulated& one : tenants_) act(one);
            for (const Simulated& one : tenants_) arbiter_.see(one.id, one.wants, now_);
            arbiter_.decide(now_);
            note();
        }
    }
    /// In percent of all time since the start.
    [[nodiscard]] double share(unsigned index) const {
        return 100.0 * static_cast<double>(tenants_[index].had_ns) /
               static_cast<double>(now_ - kStart);
    }
    [[nodiscard]] double ran(unsigned index) const {
        return 100.0 * static_cast<double>(tenants_[index].ran_ns) /
               static_cast<double>(now_ - kStart);
    }
    [[nodiscard]] std::uint64_t longest_ns() const { return longest_ns_; }
    Simulated& operator[](unsigned index) { return tenants_[index]; }
    Arbiter& arbiter() { return arbiter_; }

private:
    [[nodiscard]] std::uint32_t word(const Simulated& one) const {
        return arbiter_.word(one.id, now_);
    }
    [[nodiscard]] bool has_turn(const Simulated& one) const {
        return (word(one) & abi::kTurnMine) != 0 &&
               word(one) >> abi::kTurnGrantShift != one.wants.done;
    }
    std::uint32_t random() { return static_cast<std::uint32_t>(random_()); }
    void ask(Simulated& one) const {
        one.wants.asked = static_cast<std::uint32_t>(now_ / (2 * kMs)) | 1U;
    }
    void give_back(Simulated& one) const { one.wants.done = word(one) >> abi::kTurnGrantShift; }

    void act(Simulated& one) {
        switch (one.kind) {
            case Kind::kIdle:
                return;
            case Kind::kGreedy:
            case Kind::kRestless:
                ask(one);
                one.wants.busy_until_ns = ~std::uint64_t{0};
                if (one.kind == Kind::kRestless && has_turn(one)) one.wants.rests += 2;
                if (one.kind == Kind::kRestless) one.wants.rests |= 1U;
                return;
            case Kind::kDead:
                if (one.turns == 0) ask(one);
                return;
            case Kind::kHasty:
            case Kind::kFalseEnd:
                return lie_of_an_end(one);
            case Kind::kSilent:
                if (!has_turn(one)) ask(one);
                return;
            case Kind::kAnything:
                one.wants = {.asked = random(),
                             .rests = random(),
                             .done = random(),
                             .busy_until_ns = std::uint64_t{random()} << random() % 32};
                if (random() % 4 == 0) give_back(one);
                return;
            case Kind::kReturner:
                if (has_turn(one)) give_back(one);
                one.wants.asked = static_cast<std::uint32_t>(now_ / kStep) | 1U;
                return;
            default:
                launch(one);
        }
    }
    void lie_of_an_end(Simulated& one) const {
        constexpr std::uint64_t kSoon = 150'000;
        const bool is_over = one.wants.busy_until_ns != 0 && now_ >= one.wants.busy_until_ns;
        ask(one);
        if (!has_turn(one) || is_over || one.kind == Kind::kHasty)
            one.wants.busy_until_ns = now_ + kSoon;
        if (has_turn(one) && is_over && one.kind == Kind::kFalseEnd) give_back(one);
    }
    void launch(Simulated& one) {
        if (now_ < one.busy_until) return;  // its kernel runs, also beyond its turn
        const bool rests =
            one.kind == Kind::kWaiting && one.busy_until != 0 && now_ < one.busy_until + one.gap_ns;
        if (rests) {
            if (has_turn(one)) one.wants.rests |= 1U;
            return;
        }
        one.wants.rests += one.wants.rests % 2;
        const std::uint32_t seen = word(one);
        const bool is_late = (seen & abi::kTurnMine) == 0;
        if (is_late || (seen & abi::kTurnOver) != 0) give_back(one);
        if (!has_turn(one)) return ask(one);
        one.wants.asked = 0;
        one.busy_until = now_ + one.kernel_ns;
        one.wants.busy_until_ns = one.busy_until;
    }
    void note() {
        const unsigned holder = arbiter_.holder();
        // A kernel that outlives its turn has the device in slices with whoever has it now.
        const auto runs_on = [&](const Simulated& one) {
            return one.id != holder && now_ < one.busy_until;
        };
        const auto running = std::ranges::count_if(tenants_, runs_on);
        const std::uint64_t slice = kStep / static_cast<std::uint64_t>(1 + running);
        for (Simulated& one : tenants_) {
            if (one.id == holder || runs_on(one)) one.ran_ns += slice;
            if (one.id != holder) continue;
            one.had_ns += kStep;
            if (holder != last_) ++one.turns;
        }
        if (holder != last_) since_ = now_;
        last_ = holder;
        longest_ns_ = std::max(longest_ns_, now_ - since_);
    }

    std::vector<Simulated> tenants_;
    Arbiter arbiter_;
    std::uint64_t now_ = kStart;
    std::uint64_t since_ = kStart;
    std::uint64_t longest_ns_ = 0;
    std::mt19937 random_{7};
    unsigned last_ = Arbiter::kNobody;
};

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
    // The number that is still there when the turn is given back is no new wish.
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
    arbiter.see(one, {.asked = 6, .done = ones}, kStart + 21 * kMs);
    arbiter.decide(kStart + 21 * kMs);
    EXPECT_NE(arbiter.word(other, kStart + 21 * kMs) & abi::kTurnWanted, 0U);
}

TEST(Arbiter, TheNextIsToldTheEarlierTheSlowerThreadsWake) {
    constexpr std::uint64_t kEnd = 12 * kMs;  // of the holder's work
    const auto told_before_the_end = [](std::uint64_t wake_ns) {
        Arbiter arbiter;
        arbiter.set_wake_time(wake_ns);
        const unsigned one = arbiter.add(1);
        const unsigned other = arbiter.add(1);
        std::uint64_t at = 0;
        for (; at < 2 * kEnd && arbiter.holder() != other; at += 10'000) {
            arbiter.see(one, {.asked = 1, .busy_until_ns = kStart + kEnd}, kStart + at);
            if (at != 0) arbiter.see(other, {.asked = static_cast<std::uint32_t>(at)}, kStart + at);
            arbiter.decide(kStart + at);
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
    arbiter.see(other, {.asked = 1}, kStart + kMs);
    arbiter.decide(kStart + kMs);
    EXPECT_LE(arbiter.next_look(kStart + kMs), kStart + Arbiter::kQuantum);
    EXPECT_TRUE(arbiter.is_lively(kStart + kMs));
    EXPECT_FALSE(arbiter.is_lively(kStart + kMs + Arbiter::kStillWaiting));
}

}  // namespace
}  // namespace aliquot::turns
