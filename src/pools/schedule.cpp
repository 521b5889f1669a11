// SPDX-License-Identifier: Apache-2.0
#include "pools/schedule.h"

#include <algorithm>
#include <tuple>

namespace aliquot::pools {
namespace {

using std::chrono::seconds;

/// When the window that began at `start` ends.
std::optional<Instant> end_of(const Schedule& schedule, Instant start) {
    if (schedule.duration) return start + *schedule.duration;
    return schedule.zone.next_tick(*schedule.end, start);
}

/// The ticks of an expression in (after, until], the newest kMostTicks of them.
std::vector<Instant> ticks_in(const Schedule& schedule, const Cron& cron, Instant after,
                              Instant until) {
    std::vector<Instant> found;
    // Beyond a week of minutes nobody reads them: the newest are what counts.
    constexpr seconds kFarBack = std::chrono::days(400);
    after = std::max(after, until - kFarBack);
    while (const auto tick = schedule.zone.next_tick(cron, after)) {
        if (*tick > until) break;
        found.push_back(after = *tick);
        if (found.size() > 2 * kMostTicks) {
            found.erase(found.begin(), found.end() - kMostTicks);
        }
    }
    if (found.size() > kMostTicks) found.erase(found.begin(), found.end() - kMostTicks);
    return found;
}

void soonest(std::optional<Instant>& next, std::optional<Instant> when) {
    if (when && (!next || *when < *next)) next = when;
}

void add_steps(const Schedule& schedule, Instant after, Instant now, ScheduleLook& look) {
    for (const Instant at : ticks_in(schedule, schedule.start, after, now)) {
        const bool late = now - at > schedule.deadline;
        look.ticks.push_back({schedule.name, at,
                              late ? Tick::Kind::kMissed : Tick::Kind::kSuperseded,
                              schedule.replicas});
    }
    soonest(look.next, schedule.zone.next_tick(schedule.start, now));
}

void add_window(const Schedule& schedule, std::optional<Instant> after, Instant now,
                ScheduleLook& look) {
    if (after) {
        for (const Instant at : ticks_in(schedule, schedule.start, *after, now)) {
            look.ticks.push_back({schedule.name, at, Tick::Kind::kOpened, schedule.replicas});
        }
        if (schedule.end) {
            for (const Instant at : ticks_in(schedule, *schedule.end, *after, now)) {
                look.ticks.push_back({schedule.name, at, Tick::Kind::kClosed, 0});
            }
        }
    }
    soonest(look.next, schedule.zone.next_tick(schedule.start, now));
    const auto start = schedule.zone.last_tick(schedule.start, now);
    if (!start) return;
    const auto end = end_of(schedule, *start);
    if (end && *end <= now) return;
    soonest(look.next, end);
    if (schedule.replicas <= look.floor && !look.why.empty()) return;
    look.floor = schedule.replicas;
    look.why = "schedule '" + schedule.name + "': at least " + std::to_string(schedule.replicas);
    if (end) look.why += " until " + schedule.zone.text_of(*end);
}

/// The newest step that is not too late holds; of two at the same time the larger.
void settle_steps(ScheduleLook& look) {
    Tick* newest = nullptr;
    for (Tick& tick : look.ticks) {
        if (tick.kind != Tick::Kind::kSuperseded) continue;
        if (newest == nullptr ||
            std::tie(tick.at, tick.replicas) > std::tie(newest->at, newest->replicas)) {
            newest = &tick;
        }
    }
    if (newest != nullptr) {
        newest->kind = Tick::Kind::kApplied;
        look.state.replicas = newest->replicas;
        look.state.step = newest->schedule;
    }
}

}  // namespace

ScheduleLook look_at(const std::vector<Schedule>& schedules, const ScheduleState& before,
                     Instant now) {
    ScheduleLook look;
    look.state = before;
    const bool backwards = before.looked && *before.looked > now;
    look.state.looked = backwards ? before.looked : now;
    for (const Schedule& schedule : schedules) {
        if (!schedule.is_step()) {
            add_window(schedule, before.looked, now, look);
            continue;
        }
        if (backwards) continue;
        // Who never looked carries out what is still within its deadline.
        add_steps(schedule, before.looked.value_or(now - schedule.deadline - seconds(1)), now,
                  look);
    }
    std::ranges::stable_sort(look.ticks, {}, &Tick::at);
    settle_steps(look);
    const bool known = std::ranges::any_of(schedules, [&](const Schedule& one) {
        return one.is_step() && one.name == look.state.step;
    });
    if (!known) {
        look.state.step.clear();
        look.state.replicas = 0;
    } else if (look.state.replicas > look.floor || look.why.empty()) {
        look.floor = std::max(look.floor, look.state.replicas);
        look.why = "schedule '" + look.state.step + "': at least " +
                   std::to_string(look.state.replicas) + " until the next step";
    }
    return look;
}

}  // namespace aliquot::pools
