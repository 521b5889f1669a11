// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "queue/state.h"
#include "queue/timeline.h"
#include "queue/walk.h"

namespace aliquot::queue {
namespace {

// Jobs that one forecast plays forward, all draws together: bounds its time.
constexpr std::size_t kPlayed = 4'000;
constexpr std::size_t kMostDraws = 16;

std::uint64_t mixed(std::uint64_t x) {
    x ^= x >> 30U;
    x *= 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 27U;
    x *= 0x94D049BB133111EBULL;
    return x ^ (x >> 31U);
}

/// Of one job in one draw, 0..1.
double place_of(JobId id, std::uint64_t draw) {
    constexpr double kSteps = 9007199254740992.0;  // 2^53
    return static_cast<double>(mixed(id * 0x9E3779B97F4A7C15ULL + draw) >> 11U) / kSteps;
}

}  // namespace

std::vector<Slot> State::order() {
    std::vector<Slot> slots;
    slots.reserve(waiting_count);
    Walk walk(*this, Walk::Over::kAll);
    for (Slot slot = walk.next(); slot != kNoSlot; slot = walk.next()) slots.push_back(slot);
    return slots;
}

Time State::rest_of(const Record& record, Survival& survival, std::optional<double> place) const {
    if (record.leaving) return 1;
    const Time elapsed = record.done + (record.runs ? std::max<Time>(0, now - record.since) : 0);
    const Estimate said = estimate(record, elapsed);
    const Time said_by_owner = declared(record);
    std::optional<Time> whole;
    if (options.learn && said_by_owner > 0) {
        whole = place ? run_times.of_declared_at(record.key, said_by_owner, elapsed, *place)
                      : run_times.of_declared(record.key, said_by_owner, elapsed).mean;
        if (*whole == 0) whole.reset();
    } else if (options.learn) {
        whole =
            place ? survival.at(record.key, elapsed, *place) : survival.mean(record.key, elapsed);
        if (whole && record.limit > elapsed) whole = std::min(*whole, record.limit);
    }
    return std::max<Time>(1, whole.value_or(said.p50) - elapsed);
}

std::vector<Eta> State::forecast() {
    const std::vector<Slot> slots = order();
    for (const Slot slot : slots) {
        Record& record = records[slot];
        if (record.promised == 0 || record.promised >= now) continue;
        calibration.judge(room.ask(record.ask).milli, false);
        record.promised = 0;
    }
    const std::size_t draws =
        std::clamp<std::size_t>(kPlayed / std::max<std::size_t>(1, slots.size()), 1, kMostDraws);
    const bool backfills = options.policy != Policy::kFifo;
    std::vector<Stint> waiting(slots.size());
    std::vector<std::vector<Time>> starts;
    Survival survival(run_times);
    for (const auto& [ends, slot] : running)
        survival.add_running(records[slot].key,
                             records[slot].done + std::max<Time>(0, now - records[slot].since));
    const auto stint_of = [this](const Record& record) {
        return Stint{.milli = room.ask(record.ask).milli,
                     .queue = quotas.is_limited(record.queue) ? record.queue : Stint::kNoQuota};
    };
    for (std::size_t draw = 0; draw < draws; ++draw) {
        // A single draw is of means.
        const auto rest = [&](const Record& record) {
            return rest_of(record, survival,
                           draws == 1 ? std::nullopt : std::optional(place_of(record.id, draw)));
        };
        Timeline timeline(quotas, room.engine().free_milli(), now, options.window, backfills);
        for (const auto& [ends, slot] : running) {
            Stint stint = stint_of(records[slot]);
            stint.lasts = rest(records[slot]);
            timeline.add_running(stint);
        }
        for (std::size_t i = 0; i < slots.size(); ++i) {
            waiting[i] = stint_of(records[slots[i]]);
            waiting[i].lasts = rest(records[slots[i]]);
        }
        starts.push_back(timeline.play(waiting));
    }
    std::vector<Eta> etas(slots.size());
    std::vector<Time> drawn(draws);
    for (std::size_t i = 0; i < slots.size(); ++i) {
        Record& record = records[slots[i]];
        for (std::size_t draw = 0; draw < draws; ++draw) drawn[draw] = starts[draw][i];
        std::nth_element(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(draws / 2),
                         drawn.end());
        const Time middle = drawn[draws / 2];
        etas[i] = {.id = record.id, .position = static_cast<std::uint32_t>(i + 1)};
        record.eta = etas[i];
        if (middle == kNever) continue;
        const Time wait = middle - now;
        etas[i].p50 = middle;
        etas[i].p90 = now + std::max(wait, calibration.late(waiting[i].milli, wait));
        record.eta = etas[i];
        if (record.foreseen >= 0) continue;
        record.foreseen = wait;
        record.foreseen_at = now;
        record.promised = etas[i].p90;
    }
    return etas;
}

}  // namespace aliquot::queue
