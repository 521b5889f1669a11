// SPDX-License-Identifier: Apache-2.0
#include "pools/time_zone.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <algorithm>
#include <array>

#include "base/sentence.h"
#include "base/text.h"

namespace aliquot::pools {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr days kFarthest{9 * 366};  // 29 February is eight years away at most
constexpr std::size_t kLongestName = 64;

absl::Time to_absl(Instant when) { return absl::FromUnixSeconds(when.time_since_epoch().count()); }
Instant from_absl(absl::Time when) { return Instant(seconds(absl::ToUnixSeconds(when))); }

Instant ceil_minute(Instant when) { return std::chrono::ceil<minutes>(when); }

bool has_day(const Cron& cron, absl::CivilDay day) {
    // absl counts from Monday 0 to Sunday 6.
    const auto weekday = (static_cast<unsigned>(absl::GetWeekday(day)) + 1) % 7;
    return cron.has_date(static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()),
                         weekday);
}

bool is_zone_name(std::string_view name) {
    const auto plain = [](char c) {
        return is_letter(c) || is_digit(c) || c == '/' || c == '_' || c == '-' || c == '+';
    };
    return !name.empty() && name.size() <= kLongestName && is_letter(name.front()) &&
           std::ranges::all_of(name, plain) && !name.starts_with("Fixed/");
}

}  // namespace

struct TimeZone::Rules {
    absl::TimeZone zone;

    [[nodiscard]] absl::CivilSecond civil(Instant when) const { return zone.At(to_absl(when)).cs; }
    /// The instant of a time on the wall: the first of two, the end of the gap of none.
    [[nodiscard]] Instant instant(absl::CivilSecond wall) const {
        const auto info = zone.At(wall);
        return from_absl(info.kind == absl::TimeZone::TimeInfo::SKIPPED ? info.trans : info.pre);
    }
};

TimeZone TimeZone::utc() {
    return {"UTC", std::make_shared<const Rules>(Rules{absl::UTCTimeZone()})};
}

Result<TimeZone> TimeZone::find(std::string_view name) {
    if (name == "UTC") return utc();
    Rules rules;
    const std::string text(name);
    if (!is_zone_name(name) || !absl::LoadTimeZone(text, &rules.zone)) {
        if (!absl::LoadTimeZone("Europe/London", &rules.zone)) {
            return Error{ErrorCode::kInvalidInput,
                         "time zone '" + one_line(name, kLongestName) +
                             "': this machine has no time zones; install the package tzdata"};
        }
        return Error{
            ErrorCode::kInvalidInput,
            "'" + one_line(name, kLongestName) +
                "' is not a time zone of this machine, expected a name as Europe/Berlin or "
                "UTC"};
    }
    return TimeZone(text, std::make_shared<const Rules>(std::move(rules)));
}

std::string TimeZone::text_of(Instant when) const {
    return absl::FormatTime("%Y-%m-%d %H:%M %Z", to_absl(when), rules_->zone);
}

/// Expressions of every hour: minute by minute on days that match.
std::optional<Instant> TimeZone::next_passing(const Cron& cron, Instant after,
                                              Instant until) const {
    Instant at = ceil_minute(after + seconds(1));
    while (at <= until) {
        const absl::CivilSecond wall = rules_->civil(at);
        const absl::CivilDay day(wall);
        if (!has_day(cron, day)) {
            at =
                std::max(at + minutes(1), ceil_minute(rules_->instant(absl::CivilSecond(day + 1))));
            continue;
        }
        if (wall.second() == 0 && cron.has_minute(static_cast<unsigned>(wall.minute()))) return at;
        at += minutes(1);
    }
    return std::nullopt;
}

/// Expressions of certain hours: times on the wall in their order, whose instants never run backwards.
std::optional<Instant> TimeZone::next_fixed(const Cron& cron, Instant after, Instant until) const {
    const absl::CivilMinute begin(rules_->civil(after));
    const absl::CivilDay last(rules_->civil(until));
    for (absl::CivilDay day(begin); day <= last; ++day) {
        if (!has_day(cron, day)) continue;
        for (unsigned hour = 0; hour < 24; ++hour) {
            if (!cron.has_hour(hour)) continue;
            for (unsigned minute = 0; minute < 60; ++minute) {
                if (!cron.has_minute(minute)) continue;
                const absl::CivilMinute wall(day.year(), day.month(), day.day(),
                                             static_cast<int>(hour), static_cast<int>(minute));
                if (wall < begin) continue;
                const Instant at = rules_->instant(absl::CivilSecond(wall));
                if (at > until) return std::nullopt;
                if (at > after) return at;
            }
        }
    }
    return std::nullopt;
}

std::optional<Instant> TimeZone::next_tick(const Cron& cron, Instant after) const {
    const Instant until = after + kFarthest;
    return cron.is_every_hour() ? next_passing(cron, after, until) : next_fixed(cron, after, until);
}

std::optional<Instant> TimeZone::last_tick(const Cron& cron, Instant now) const {
    constexpr std::array<hours, 5> kLooks{hours(2), hours(48), hours(24 * 35), hours(24 * 400),
                                          std::chrono::duration_cast<hours>(kFarthest)};
    for (const hours back : kLooks) {
        std::optional<Instant> found;
        Instant from = now - back;
        while (true) {
            const auto tick =
                cron.is_every_hour() ? next_passing(cron, from, now) : next_fixed(cron, from, now);
            if (!tick) break;
            found = from = *tick;
        }
        if (found) return found;
    }
    return std::nullopt;
}

}  // namespace aliquot::pools
