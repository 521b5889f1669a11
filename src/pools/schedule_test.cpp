// SPDX-License-Identifier: Apache-2.0
#include "pools/schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/time_text.h"

namespace aliquot::pools {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

Instant on(std::string_view text) { return std::chrono::floor<seconds>(*parse_rfc3339(text)); }

Schedule step(const char* name, const char* cron, unsigned replicas, const char* zone = "UTC") {
    return {.name = name,
            .start = *Cron::parse(cron),
            .zone = *TimeZone::find(zone),
            .replicas = replicas};
}

Schedule window(const char* name, const char* start, const char* end, unsigned replicas,
                const char* zone = "UTC") {
    Schedule made = step(name, start, replicas, zone);
    made.end = *Cron::parse(end);
    return made;
}

// R79.
TEST(Schedule, WeekdaysAtNineGiveFiveNodesUntilTheEveningOfTheirTimeZone) {
    const std::vector<Schedule> all{
        window("office", "0 9 * * 1-5", "0 18 * * 1-5", 5, "Europe/Berlin")};
    const auto floor_at = [&](const char* when) { return look_at(all, {}, on(when)).floor; };
    EXPECT_EQ(floor_at("2026-11-23T07:59:59Z"), 0U);
    EXPECT_EQ(floor_at("2026-11-23T08:00:00Z"), 5U);  // Monday, winter
    EXPECT_EQ(floor_at("2026-11-23T16:59:59Z"), 5U);
    EXPECT_EQ(floor_at("2026-11-23T17:00:00Z"), 0U);
    EXPECT_EQ(floor_at("2026-07-06T07:00:00Z"), 5U);  // Monday, summer
    EXPECT_EQ(floor_at("2026-11-22T12:00:00Z"), 0U);  // Sunday
    const auto look = look_at(all, {}, on("2026-11-23T08:00:00Z"));
    EXPECT_EQ(look.why, "schedule 'office': at least 5 until 2026-11-23 18:00 CET");
    EXPECT_EQ(look.next, on("2026-11-23T17:00:00Z"));
}

TEST(Schedule, AStepHoldsUntilItsPartner) {
    const std::vector<Schedule> all{step("up", "0 9 * * 1-5", 5), step("down", "0 18 * * 1-5", 1)};
    auto look = look_at(all, {}, on("2026-11-23T09:00:00Z"));
    EXPECT_EQ(look.floor, 5U);
    look = look_at(all, look.state, on("2026-11-23T17:59:00Z"));
    EXPECT_EQ(look.floor, 5U);
    EXPECT_TRUE(look.ticks.empty());
    look = look_at(all, look.state, on("2026-11-23T18:00:10Z"));
    EXPECT_EQ(look.floor, 1U);
    ASSERT_EQ(look.ticks.size(), 1U);
    EXPECT_EQ(look.ticks[0].kind, Tick::Kind::kApplied);
    // Whose schedule is gone holds no more.
    EXPECT_EQ(look_at({}, look.state, on("2026-11-23T18:01:00Z")).floor, 0U);
}

// R79.
TEST(Schedule, AMissedRunIsCarriedOutOnceWithinItsDeadlineAndNotAfter) {
    const std::vector<Schedule> all{step("up", "0 9 * * *", 5)};
    const ScheduleState before{.looked = on("2026-11-23T08:30:00Z")};
    auto look = look_at(all, before, on("2026-11-23T09:40:00Z"));
    ASSERT_EQ(look.ticks.size(), 1U);
    EXPECT_EQ(look.ticks[0].kind, Tick::Kind::kApplied);
    EXPECT_EQ(look.floor, 5U);
    EXPECT_TRUE(look_at(all, look.state, on("2026-11-23T09:41:00Z")).ticks.empty());
    look = look_at(all, before, on("2026-11-23T10:00:01Z"));
    ASSERT_EQ(look.ticks.size(), 1U);
    EXPECT_EQ(look.ticks[0].kind, Tick::Kind::kMissed);
    EXPECT_EQ(look.floor, 0U);
    // A program that starts for the first time.
    EXPECT_EQ(look_at(all, {}, on("2026-11-23T09:59:00Z")).floor, 5U);
    EXPECT_EQ(look_at(all, {}, on("2026-11-23T10:01:00Z")).floor, 0U);
}

TEST(Schedule, AClockThatRunsBackwardsSeesNoTickTwice) {
    const std::vector<Schedule> all{step("up", "0 9 * * *", 5)};
    auto look = look_at(all, {.looked = on("2026-11-23T08:59:00Z")}, on("2026-11-23T09:00:00Z"));
    EXPECT_EQ(look.ticks.size(), 1U);
    look = look_at(all, look.state, on("2026-11-23T08:58:00Z"));
    EXPECT_TRUE(look.ticks.empty());
    EXPECT_EQ(look.floor, 5U);
    EXPECT_TRUE(look_at(all, look.state, on("2026-11-23T09:00:30Z")).ticks.empty());
}

/// Looks come at random, with restarts and outages of days; whatever happens each tick is told once.
// R79.
TEST(Schedule, TellsEveryTickOnceOverTenYears) {
    std::mt19937 random(7);
    for (const char* const zone : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                   "America/Sao_Paulo", "Asia/Kathmandu", "Africa/Casablanca"}) {
        const std::vector<Schedule> all{step("up", "30 2 * * *", 5, zone),
                                        step("down", "0 18 * * 1-5", 0, zone),
                                        window("night", "0 22 * * *", "0 1 * * *", 2, zone)};
        std::map<std::pair<std::string, Instant>, unsigned> told;
        const Instant begin = on("2016-01-01T12:00:00Z");
        const Instant end = on("2026-01-01T12:00:00Z");
        ScheduleState state{.looked = begin};
        for (Instant now = begin; now < end;) {
            std::exponential_distribution<double> pause(random() % 50 == 0 ? 1.0 / 200'000
                                                                           : 1.0 / 20'000);
            now = std::min(end, now + seconds(1 + static_cast<long>(pause(random))));
            const auto look = look_at(all, state, now);
            for (const Tick& tick : look.ticks) {
                ++told[{tick.schedule + (tick.kind == Tick::Kind::kClosed ? "/end" : ""), tick.at}];
            }
            state = look.state;
        }
        std::size_t expected = 0;
        for (const auto& [name, cron] : {std::pair<std::string, const Cron*>{"up", &all[0].start},
                                         {"down", &all[1].start},
                                         {"night", &all[2].start},
                                         {"night/end", &*all[2].end}}) {
            Instant at = begin;
            while (const auto tick = all[0].zone.next_tick(*cron, at)) {
                if (*tick > end) break;
                at = *tick;
                ++expected;
                EXPECT_EQ((told[{name, at}]), 1U) << zone << " " << name << " " << rfc3339(at);
            }
        }
        EXPECT_EQ(told.size(), expected) << zone;
    }
}

}  // namespace
}  // namespace aliquot::pools
