// SPDX-License-Identifier: Apache-2.0
// Ten years of ticks in six time zones against what an independent cron library and an independent reader of
// time zones say (cases/ticks.tsv), and what happens when clocks are changed.
#include <gtest/gtest.h>

#include "base/number.h"
#include "base/text.h"
#include "base/time_text.h"
#include "pools/time_zone.h"
#include "tests/case_files.h"

namespace aliquot::pools {
namespace {

using std::chrono::seconds;

Instant instant(std::string_view text) {
    return std::chrono::floor<seconds>(parse_rfc3339(text).value());
}

std::vector<std::string> ticks(const char* zone, const char* expression, const char* from,
                               const char* to) {
    std::vector<std::string> all;
    const auto where = TimeZone::find(zone);
    const auto cron = Cron::parse(expression);
    Instant at = instant(from);
    while (const auto tick = where->next_tick(*cron, at)) {
        if (*tick > instant(to)) break;
        all.push_back(rfc3339(at = *tick));
    }
    return all;
}

std::uint64_t add_to_hash(std::uint64_t hash, std::int64_t number) {
    auto bits = static_cast<std::uint64_t>(number);
    for (int i = 0; i < 8; ++i, bits >>= 8U) hash = (hash ^ (bits & 0xffU)) * 0x100000001b3ULL;
    return hash;
}

/// The first instant of a year on the zone's wall.
Instant year_begins(const TimeZone& zone, const char* utc) {
    const auto cron = Cron::parse("0 0 1 1 *");
    return zone.last_tick(*cron, instant(utc) + std::chrono::hours(24)).value();
}

// R79.
TEST(Ticks, AreThoseOfAnIndependentLibraryOverTenYearsInSixZones) {
    const std::string table =
        cases::read(std::string(ALIQUOT_SOURCE_DIR) + "/src/pools/cases/ticks.tsv");
    std::size_t rows = 0;
    for (const std::string_view line : lines_of(table)) {
        const auto cells = split(line, '\t');
        if (line.starts_with('#') || cells.size() != 4 || cells[0] == "expression") continue;
        ++rows;
        const auto cron = Cron::parse(cells[0]);
        const auto zone = TimeZone::find(cells[1]);
        ASSERT_TRUE(cron && zone) << line;
        const Instant end = year_begins(*zone, "2026-01-01T00:00:00Z");
        Instant at = year_begins(*zone, "2016-01-01T00:00:00Z");
        std::size_t count = 0;
        std::uint64_t hash = 0xcbf29ce484222325ULL;
        while (const auto tick = zone->next_tick(*cron, at)) {
            ASSERT_GT(*tick, at) << line;
            if (*tick > end) break;
            at = *tick;
            ++count;
            hash = add_to_hash(hash, at.time_since_epoch().count());
        }
        EXPECT_EQ(std::to_string(count), cells[2]) << line;
        EXPECT_EQ(hash, parse_number<std::uint64_t>(cells[3], 16)) << line;
    }
    EXPECT_EQ(rows, 72U);
}

TEST(Ticks, OfASkippedHourComeOnceAtTheEndOfTheGap) {
    EXPECT_EQ(
        ticks("Europe/Berlin", "15,45 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z"),
        (std::vector<std::string>{"2026-03-29T01:00:00Z", "2026-03-30T00:15:00Z",
                                  "2026-03-30T00:45:00Z"}));
    // 03:00 is there, and is also where the gap ends: once.
    EXPECT_EQ(ticks("Europe/Berlin", "0 2,3 * * *", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z"),
              (std::vector<std::string>{"2026-03-29T01:00:00Z"}));
}

TEST(Ticks, OfAnHourThatComesTwiceComeTheFirstTime) {
    EXPECT_EQ(ticks("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z"),
              (std::vector<std::string>{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}));
    EXPECT_EQ(ticks("Europe/Berlin", "30 * * * *", "2026-10-24T23:45:00Z", "2026-10-25T02:45:00Z"),
              (std::vector<std::string>{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z",
                                        "2026-10-25T02:30:00Z"}));
}

TEST(Ticks, KnowTheLastOneBeforeAMoment) {
    const auto zone = TimeZone::find("America/New_York");
    const auto cron = Cron::parse("0 9 * * 1-5");
    EXPECT_EQ(zone->last_tick(*cron, instant("2026-11-23T13:59:59Z")),
              instant("2026-11-20T14:00:00Z"));
    EXPECT_EQ(zone->last_tick(*cron, instant("2026-11-23T14:00:00Z")),
              instant("2026-11-23T14:00:00Z"));
    EXPECT_EQ(
        TimeZone::utc().last_tick(*Cron::parse("0 0 29 2 *"), instant("2027-01-01T00:00:00Z")),
        instant("2024-02-29T00:00:00Z"));
}

TEST(TimeZone, IsOneOfTheSystemAndNothingElse) {
    for (const char* const name : {"Berlin", "/etc/passwd", "../../etc/passwd", "",
                                   "Fixed/UTC+01:00:00", "Europe/Berlin ", "libc:localtime"}) {
        const auto zone = TimeZone::find(name);
        ASSERT_FALSE(zone) << name;
        EXPECT_EQ(zone.error().code, ErrorCode::kInvalidInput);
        EXPECT_NE(zone.error().message.find("Europe/Berlin"), std::string::npos);
    }
    EXPECT_EQ(TimeZone::find("Europe/Berlin")->text_of(instant("2026-07-01T07:00:00Z")),
              "2026-07-01 09:00 CEST");
}

}  // namespace
}  // namespace aliquot::pools
