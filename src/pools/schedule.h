// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "document/value.h"
#include "pools/cron.h"
#include "pools/time_zone.h"

namespace aliquot::pools {

/// At some times a pool has at least so many nodes. With an end or a duration it is a window: open or not at any
/// moment, whatever was seen before. Without both it is a step: the number holds until another step's tick.
struct Schedule {
    std::string name;
    Cron start;
    TimeZone zone;
    unsigned replicas = 0;
    std::optional<Cron> end;                       // in the same zone
    std::optional<std::chrono::seconds> duration;  // instead of an end
    /// Of a step: a tick that is noticed later than this is not carried out any more.
    std::chrono::seconds deadline{3600};
    document::Mark mark;

    [[nodiscard]] bool is_step() const { return !end && !duration; }
};

/// What has to be remembered between two looks; kept in the pool's status.
struct ScheduleState {
    std::optional<Instant> looked;  // ticks up to here were seen; empty: never looked
    unsigned replicas = 0;          // of the step that holds
    std::string step;               // its schedule's name; empty: none has ticked yet
    friend bool operator==(const ScheduleState&, const ScheduleState&) = default;
};

/// One tick of one schedule, told once.
struct Tick {
    enum class Kind : std::uint8_t {
        kApplied,     // a step that holds now
        kSuperseded,  // a step, but another one came after it
        kMissed,      // a step that was noticed after its deadline
        kOpened,      // a window's start
        kClosed,      // and its end
    };
    std::string schedule;
    Instant at;
    Kind kind = Kind::kApplied;
    unsigned replicas = 0;
    friend bool operator==(const Tick&, const Tick&) = default;
};

struct ScheduleLook {
    ScheduleState state;  // to be kept
    std::vector<Tick>
        ticks;  // since the last look, by time; at most kMostTicks of each schedule, the newest
    unsigned floor = 0;  // nodes that the schedules want now
    std::string why;     // "schedule 'office': at least 5 until 2026-03-27 18:00 CET"; empty: none
    std::optional<Instant> next;  // when the next tick or end is due
};
inline constexpr std::size_t kMostTicks = 100;

/// Looks at the schedules at `now`. A clock that went backwards sees no tick twice.
ScheduleLook look_at(const std::vector<Schedule>& schedules, const ScheduleState& before,
                     Instant now);

}  // namespace aliquot::pools
