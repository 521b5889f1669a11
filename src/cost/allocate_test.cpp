// SPDX-License-Identifier: Apache-2.0
#include "cost/allocate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "cost/share.h"

namespace aliquot::cost {
namespace {

constexpr TimeMs kStart = 1'790'000'000'000 / kHourMs * kHourMs;
constexpr Micros kDollar = kMicrosPerUnit;

struct World {
    History history;
    NameId node = history.names.add("n1");
    NameId gpu = history.names.add("GPU-1");
    NameId price = history.names.add("site 1");

    OwnerId owner(std::string_view job) {
        return history.add(Owner{.queue = history.names.add("q"), .job = history.names.add(job)});
    }
    void span(double from, double to, Micros rate) {
        history.spans.push_back({.begin = at(from),
                                 .end = at(to),
                                 .node = node,
                                 .price = price,
                                 .rate = rate,
                                 .devices = {gpu}});
    }
    Interval& hold(OwnerId owner, double from, double to, std::uint32_t share, State state) {
        history.intervals.push_back({.begin = at(from),
                                     .end = at(to),
                                     .node = node,
                                     .device = gpu,
                                     .owner = owner,
                                     .share = share,
                                     .state = state});
        return history.intervals.back();
    }
    static TimeMs at(double hours) {
        return kStart + static_cast<TimeMs>(hours * static_cast<double>(kHourMs));
    }
    [[nodiscard]] std::map<std::pair<OwnerId, State>, Micros> sums() const {
        std::map<std::pair<OwnerId, State>, Micros> all;
        for (const Row& row : allocate(history).rows) all[{row.owner, row.state}] += row.total();
        return all;
    }
};

using Sums = std::map<std::pair<OwnerId, State>, Micros>;

TEST(Allocate, WhatNobodyHoldsIsFree) {
    World world;
    world.span(0, 2, 3 * kDollar);
    world.hold(world.owner("a"), 0.5, 1.5, kWholeGpu / 2, State::kBusy);
    EXPECT_EQ(world.sums(), (Sums{{{0, State::kFree}, 4'500'000}, {{1, State::kBusy}, 1'500'000}}));
}

TEST(Allocate, ThreeThirdsLeaveNothing) {
    World world;
    world.span(0, 1, kDollar);
    for (const char* job : {"a", "b", "c"}) {
        world.hold(world.owner(job), 0, 1, share_of({.slots = 1, .of = 3}), State::kIdle);
    }
    EXPECT_EQ(world.sums(), (Sums{{{1, State::kIdle}, 333'334},
                                  {{2, State::kIdle}, 333'333},
                                  {{3, State::kIdle}, 333'333}}));
}

TEST(Allocate, MoreThanTheGpuIsDividedInProportion) {
    World world;
    world.span(0, 1, 3 * kDollar);
    world.hold(world.owner("a"), 0, 1, kWholeGpu, State::kBusy);
    world.hold(world.owner("b"), 0, 1, kWholeGpu / 2, State::kBusy);
    EXPECT_EQ(world.sums(), (Sums{{{1, State::kBusy}, 2'000'000}, {{2, State::kBusy}, 1'000'000}}));
}

TEST(Allocate, NobodyPaysForABrokenGpu) {
    World world;
    world.span(0, 1, kDollar);
    world.hold(world.owner("a"), 0, 1, kWholeGpu, State::kBusy);
    world.hold(0, 0.25, 0.5, 0, State::kBroken);
    EXPECT_EQ(world.sums(), (Sums{{{0, State::kBroken}, 250'000}, {{1, State::kBusy}, 750'000}}));
}

TEST(Allocate, WhatIsLeftOfADrainingGpuIsDraining) {
    World world;
    world.span(0, 1, kDollar);
    world.hold(world.owner("a"), 0, 1, kWholeGpu / 4, State::kBusy);
    world.hold(0, 0, 1, 0, State::kDraining);
    EXPECT_EQ(world.sums(), (Sums{{{0, State::kDraining}, 750'000}, {{1, State::kBusy}, 250'000}}));
}

TEST(Allocate, ATimeThatWasSeenTwiceCountsOnce) {
    World world;
    world.span(0, 1, kDollar);
    world.span(0.5, 1.5, kDollar);  // the clock was put back
    world.hold(world.owner("a"), 0, 1, kWholeGpu / 2, State::kBusy);
    world.hold(world.owner("a"), 0.5, 1.5, kWholeGpu / 2, State::kBusy);
    EXPECT_EQ(world.sums(), (Sums{{{0, State::kFree}, 750'000}, {{1, State::kBusy}, 750'000}}));
}

TEST(Allocate, APriceThatChangesWithinAnHour) {
    World world;
    world.span(0, 0.5, kDollar);
    world.price = world.history.names.add("site 2");
    world.span(0.5, 1, 2 * kDollar);
    world.hold(world.owner("a"), 0, 1, kWholeGpu, State::kBusy);
    const Allocation all = allocate(world.history);
    ASSERT_EQ(all.bills.size(), 2U);
    EXPECT_EQ(all.bills[0].amount + all.bills[1].amount, 1'500'000);
    EXPECT_NE(all.rows[0].price, all.rows[1].price);
}

TEST(Allocate, EnergyOfHoursAddsUp) {
    World world;
    world.span(0, 3, kDollar);
    world.hold(world.owner("a"), 0.5, 2.5, kWholeGpu, State::kBusy).energy_millijoules = 1'000'001;
    std::uint64_t sum = 0;
    for (const Row& row : allocate(world.history).rows) sum += row.energy_millijoules;
    EXPECT_EQ(sum, 1'000'001U);
}

/// A history without order: pods, shares, MIG parts, lost nodes, clocks put back and forward, gaps, new prices.
class RandomHistory {
public:
    explicit RandomHistory(unsigned number) : random_(number) {
        const unsigned nodes = upto(3);
        for (unsigned i = 0; i < nodes; ++i) add_node("n" + std::to_string(i));
        std::ranges::shuffle(history.intervals, random_);
        std::ranges::shuffle(history.spans, random_);
    }
    History history;

private:
    unsigned upto(unsigned most) {
        return std::uniform_int_distribution<unsigned>(1, most)(random_);
    }
    TimeMs moment() {
        constexpr TimeMs kLength = 5 * kHourMs;
        return kStart + std::uniform_int_distribution<TimeMs>(-kHourMs, kLength)(random_);
    }
    void add_node(const std::string& name) {
        const NameId node = history.names.add(name);
        std::vector<NameId> gpus;
        for (unsigned i = upto(4); i > 1; --i) {
            gpus.push_back(history.names.add(name + "-gpu" + std::to_string(i)));
        }
        TimeMs at = moment();
        for (unsigned i = upto(5); i > 0; --i) {
            const TimeMs length = upto(2) == 1 ? upto(3'600'000) : upto(10'000'000);
            history.spans.push_back({.begin = at,
                                     .end = at + length,
                                     .node = node,
                                     .price = history.names.add("v" + std::to_string(upto(3))),
                                     .rate = upto(9) == 1 ? 0 : upto(90'000'000),
                                     .cpu_milli = upto(4) == 1 ? 0 : upto(192) * 1'000,
                                     .memory_mib = upto(4) == 1 ? 0 : upto(2'000'000),
                                     .devices = gpus});
            const unsigned next = upto(4);
            if (next == 1) at += length;                    // on and on
            if (next == 2) at += length + upto(2'000'000);  // a gap
            if (next == 3) at += length - upto(600'000);    // the clock was put back
            if (next == 4 && upto(2) == 1 && !gpus.empty()) gpus.pop_back();
        }
        for (unsigned i = upto(30); i > 0; --i) add_interval(node, gpus);
    }
    void add_interval(NameId node, const std::vector<NameId>& gpus) {
        const TimeMs begin = moment();
        Interval one{.begin = begin, .end = begin + upto(9'000'000) - 10, .node = node};
        if (!gpus.empty() && upto(5) > 1) one.device = gpus[upto(unsigned(gpus.size())) - 1];
        one.owner =
            upto(4) == 1
                ? 0
                : history.add(Owner{.job = history.names.add("j" + std::to_string(upto(6)))});
        if (upto(3) == 1) one.part = history.names.add("mig" + std::to_string(upto(3)));
        one.share = upto(4) == 1 ? 0 : share_of({.slots = upto(2), .of = upto(16)});
        one.cpu_milli = upto(64) * 100;
        one.memory_mib = upto(100'000);
        one.state = static_cast<State>(upto(6) - 1);
        one.energy_millijoules = upto(1'000'000'000);
        history.intervals.push_back(one);
    }
    std::mt19937 random_;
};

struct HourKey {
    NameId node;
    TimeMs hour;
    auto operator<=>(const HourKey&) const = default;
};

/// What the nodes must cost, without any of the product's arithmetic but the rule of overlaps.
std::map<HourKey, long double> bills_of(const History& history) {
    std::map<HourKey, long double> bills;
    std::map<NameId, std::vector<Span>> nodes;
    for (const Span& span : history.spans) nodes[span.node].push_back(span);
    for (auto& [node, spans] : nodes) {
        std::ranges::stable_sort(spans, {}, &Span::begin);
        TimeMs covered = INT64_MIN;
        for (const Span& span : spans) {
            const TimeMs first = std::max(covered, span.begin);
            for (TimeMs at = first; at < span.end;) {
                const TimeMs next = std::min(hour_of(at) + kHourMs, span.end);
                bills[{node, hour_of(at)}] += static_cast<long double>(span.rate) *
                                              static_cast<long double>(next - at) / kHourMs;
                at = next;
            }
            covered = std::max(covered, span.end);
        }
    }
    return bills;
}

std::string wrong_with(const History& history, const Allocation& all) {
    std::map<HourKey, Micros> rows;
    std::map<HourKey, Micros> bills;
    std::map<HourKey, unsigned> pieces;
    for (const Row& row : all.rows) {
        rows[{row.node, row.hour}] += row.total();
        if (row.gpu < 0 || row.cpu < 0 || row.memory < 0) return "less than nothing";
        if (row.owner == 0 && row.state == State::kBusy && row.total() != 0 && row.gpu_ms < 0) {
            return "nobody is busy";
        }
    }
    for (const Bill& bill : all.bills) {
        bills[{bill.node, bill.hour}] += bill.amount;
        ++pieces[{bill.node, bill.hour}];
    }
    for (const auto& [key, amount] : bills) {
        if (rows[key] != amount) return "rows and bill of an hour differ";
    }
    const auto expected = bills_of(history);
    if (expected.size() != bills.size()) return "other hours are billed";
    for (const auto& [key, amount] : expected) {
        if (std::abs(amount - static_cast<long double>(bills[key])) > pieces[key]) {
            return "an hour costs something else";
        }
    }
    return "";
}

TEST(Allocate, OwnersAndIdleAndBrokenAreTheBillWhateverHappens) {
    constexpr unsigned kHistories = 10'000;
    for (unsigned number = 0; number < kHistories; ++number) {
        const RandomHistory random(number);
        const Allocation all = allocate(random.history);
        ASSERT_EQ(wrong_with(random.history, all), "") << "history " << number;
    }
}

TEST(Allocate, ThreadsAndOrderChangeNothing) {
    const RandomHistory random(7);
    const Allocation one = allocate(random.history, 1);
    EXPECT_EQ(one.rows, allocate(random.history, 4).rows);
}

TEST(Allocate, NodesAreHandedOverInOrderWhoeverIsReadyFirst) {
    constexpr unsigned kNodes = 200;
    World world;
    const OwnerId owner = world.owner("job");
    for (unsigned node = 0; node < kNodes; ++node) {
        world.node = world.history.names.add("node-" + std::to_string(node));
        world.span(0, 3, kDollar);
        // Every seventh has far more to divide than the others.
        const unsigned pieces = node % 7 == 0 ? 3'000 : 3;
        for (unsigned i = 0; i < pieces; ++i) {
            world.hold(owner, 3.0 * i / pieces, 3.0 * (i + 1) / pieces, kWholeGpu, State::kBusy);
        }
    }
    const Allocation expected = allocate(world.history);
    for (const unsigned threads : {1U, 2U, 8U}) {
        Allocation all;
        unsigned calls = 0;
        const TakeNode take = [&](const Allocation& node) {
            ++calls;
            for (const Row& row : node.rows) EXPECT_EQ(row.node, node.bills.front().node);
            all.rows.insert(all.rows.end(), node.rows.begin(), node.rows.end());
            all.bills.insert(all.bills.end(), node.bills.begin(), node.bills.end());
        };
        allocate(world.history, take, threads);
        EXPECT_EQ(calls, kNodes);
        EXPECT_TRUE(all.rows == expected.rows) << threads << " threads";
        EXPECT_TRUE(all.bills == expected.bills) << threads << " threads";
    }
}

/// So many that they are not sorted by comparison, over years before and after 1970, with the same beginnings.
TEST(Allocate, TheOrderOfManyIntervalsChangesNothing) {
    constexpr TimeMs kYears = 3 * 365 * kDayMs;
    World world;
    world.history.spans.push_back({.begin = -kHourMs,
                                   .end = kHourMs,
                                   .node = world.node,
                                   .price = world.price,
                                   .rate = kDollar,
                                   .devices = {world.gpu}});
    std::vector<OwnerId> owners;
    for (unsigned i = 0; i < 20; ++i) owners.push_back(world.owner("job-" + std::to_string(i)));
    std::mt19937 random(7);
    for (unsigned i = 0; i < 5'000; ++i) {
        const bool is_near = i % 2 == 0;
        const TimeMs begin =
            is_near ? static_cast<TimeMs>(random() % 120) * 60'000 - kHourMs
                    : static_cast<TimeMs>(random() % 2) * 2 * kYears - kYears + random() % 7;
        Interval& one = world.hold(owners[i % owners.size()], 0, 0, kWholeGpu / 30, State::kBusy);
        one.begin = begin;
        one.end = begin + static_cast<TimeMs>(1 + random() % 9) * 30'000 + i;  // no two are equal
    }
    const Allocation made = allocate(world.history);
    ASSERT_GT(made.rows.size(), owners.size());
    for (unsigned i = 0; i < 4; ++i) {
        std::ranges::shuffle(world.history.intervals, random);
        const Allocation again = allocate(world.history);
        EXPECT_TRUE(made.rows == again.rows && made.bills == again.bills);
    }
}

}  // namespace
}  // namespace aliquot::cost
