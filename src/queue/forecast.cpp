// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

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

/// Starts of the waiting, in their order, if each run takes what `rest` says.
std::vector<Time> State::starts_when(const std::vector<Slot>& slots,
                                     const std::function<Time(const Record&)>& rest) const {
    Timeline timeline(quotas, room.engine().free_milli(), now, options.window,
                      options.policy != Policy::kFifo);
    const auto stint_of = [&](const Record& record) {
        return Stint{.milli = room.ask(record.ask).milli,
                     .lasts = rest(record),
                     .queue = quotas.is_limited(record.queue) ? record.queue : Stint::kNoQuota};
    };
    for (const auto& [ends, slot] : running) timeline.add_running(stint_of(records[slot]));
    std::vector<Stint> waiting;
    waiting.reserve(slots.size());
    for (const Slot slot : slots) waiting.push_back(stint_of(records[slot]));
    return timeline.play(waiting);
}

/// Starts when nobody ends before its limit; empty: somebody has none.
std::vector<Time> State::starts_by_limits(const std::vector<Slot>& slots) const {
    const auto limit_of = [&](const Record& record) {
        return record.limit > 0 ? record.limit : quotas.queue(record.queue).limit;
    };
    const auto is_limited = [&](Slot slot) { return limit_of(records[slot]) > 0; };
    const bool all = std::ranges::all_of(slots, is_limited) &&
                     std::ranges::all_of(running, is_limited, &std::pair<Time, Slot>::second);
    if (!all) return {};
    return starts_when(slots, [&](const Record& record) {
        const Time elapsed = record.runs ? std::max<Time>(0, now - record.since) : 0;
        return std::max<Time>(1, limit_of(record) - elapsed);
    });
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
    std::vector<std::vector<Time>> starts;
    Survival survival(run_times);
    for (const auto& [ends, slot] : running)
        survival.add_running(records[slot].key,
                             records[slot].done + std::max<Time>(0, now - records[slot].since));
    for (std::size_t draw = 0; draw < draws; ++draw) {
        // A single draw is of means.
        starts.push_back(starts_when(slots, [&](const Record& record) {
            return rest_of(record, survival,
                           draws == 1 ? std::nullopt : std::optional(place_of(record.id, draw)));
        }));
    }
    // Later others go before, and late starts are what was learnt.
    const auto at_worst = calibration.knows() ? std::vector<Time>() : starts_by_limits(slots);
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
        etas[i].p90 = now + calibration.late(room.ask(record.ask).milli, wait);
        if (!at_worst.empty()) etas[i].p90 = std::min(etas[i].p90, at_worst[i]);
        etas[i].p90 = std::max(etas[i].p90, middle);
        record.eta = etas[i];
        if (record.foreseen >= 0) continue;
        record.foreseen = wait;
        record.foreseen_at = now;
        record.promised = etas[i].p90;
    }
    return etas;
}

}  // namespace aliquot::queue
