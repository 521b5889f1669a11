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

}  // namespace

std::vector<Slot> State::order() {
    std::vector<Slot> slots;
    slots.reserve(waiting_count);
    Walk walk(*this, Walk::Over::kAll);
    for (Slot slot = walk.next(); slot != kNoSlot; slot = walk.next()) slots.push_back(slot);
    return slots;
}

/// What is left of a run: as is known, else one of the runs that such jobs took; of a single draw their mean.
Time State::drawn_rest(const Record& record, std::uint64_t draw, bool single) const {
    const Time elapsed = record.done + (record.runs ? std::max<Time>(0, now - record.since) : 0);
    const Estimate said = estimate(record, elapsed);
    if (record.leaving) return 1;
    if (single || record.expected > 0 || !options.learn)
        return std::max<Time>(1, (record.expected > 0 ? said.p50 : said.mean) - elapsed);
    const std::vector<Time>& known = run_times.known(record.key, elapsed);
    const auto first = std::upper_bound(known.begin(), known.end(), elapsed);
    if (first == known.end()) return std::max<Time>(1, said.p50 - elapsed);
    const auto count = static_cast<std::uint64_t>(known.end() - first);
    const std::uint64_t at = mixed(record.id * 0x9E3779B97F4A7C15ULL + draw) % count;
    return std::max<Time>(1, first[static_cast<std::ptrdiff_t>(at)] - elapsed);
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
    const auto stint_of = [this](const Record& record) {
        return Stint{.milli = room.ask(record.ask).milli,
                     .queue = quotas.is_limited(record.queue) ? record.queue : Stint::kNoQuota};
    };
    for (std::size_t draw = 0; draw < draws; ++draw) {
        Timeline timeline(quotas, room.engine().free_milli(), now, options.window, backfills);
        for (const auto& [ends, slot] : running) {
            Stint stint = stint_of(records[slot]);
            stint.lasts = drawn_rest(records[slot], draw, draws == 1);
            timeline.add_running(stint);
        }
        for (std::size_t i = 0; i < slots.size(); ++i) {
            waiting[i] = stint_of(records[slots[i]]);
            waiting[i].lasts = drawn_rest(records[slots[i]], draw, draws == 1);
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
        const Calibration::Bounds bounds = calibration.bounds(waiting[i].milli, wait);
        etas[i].p50 = now + bounds.p50;
        etas[i].p90 = now + std::max(bounds.p50, bounds.p90);
        record.eta = etas[i];
        if (record.foreseen >= 0) continue;
        record.foreseen = wait;
        record.foreseen_at = now;
        record.promised = etas[i].p90;
    }
    return etas;
}

}  // namespace aliquot::queue
