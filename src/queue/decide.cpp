// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "queue/state.h"
#include "queue/walk.h"

namespace aliquot::queue {

Plan State::decide() {
    Plan plan;
    extend_overruns();
    if (changed) {
        if (afresh) {
            held.clear();
            holds_of_devices = 0;
            room.note_freed();
            for (Line& line : lines) line.idle = false;
        }
        changed = afresh = false;
        serve_waiting(plan);
    }
    for (const Held& one : held) plan.reservations.push_back({records[one.slot].id, one.at});
    if (waiting_count > 0 && !running.empty()) plan.next = running.begin()->first;
    return plan;
}

void State::start(Slot slot, std::vector<placement::Placement> where, Plan& plan) {
    stop_waiting(slot);
    Record& record = records[slot];
    if (record.foreseen >= 0)
        calibration.learn(room.ask(record.ask).milli, record.foreseen, now - record.foreseen_at);
    if (record.promised != 0) calibration.judge(room.ask(record.ask).milli, now <= record.promised);
    record.promised = 0;
    record.foreseen = -1;
    plan.starts.push_back({.id = records[slot].id, .where = where});
    run(slot, std::move(where), now);
    plan.starts.back().ends = records[slot].ends;
}

void State::serve_waiting(Plan& plan) {
    const unsigned most_holds = keeps_reservations() ? options.reservations : 0;
    std::vector<Slot> window;
    AskId fitted = UINT32_MAX;  // that fits beside what is held
    Walk walk(*this, Walk::Over::kOpen);
    for (Slot slot = walk.next(); slot != kNoSlot; slot = walk.next()) {
        const Record& record = records[slot];
        const Ask& ask = room.ask(record.ask);
        if (!quotas.fits(record.queue, ask.milli)) {
            if (options.policy == Policy::kFifo) return;
            if (preempts() && preempt_for(slot, plan) && !keeps_reservations()) return;
            const bool first = std::none_of(held.begin(), held.end(), [&](const Held& one) {
                return one.queue == record.queue;
            });
            if (first && keeps_reservations()) hold(slot, false);
            walk.close_bucket();
            continue;
        }
        if (!room.is_refused(record.ask)) {
            if (is_beside_held(record)) {
                // Nothing starts while the window is filled: what fitted, fits.
                if (record.ask == fitted || room.fits(room.nodes(), ask)) {
                    if (holds_of_devices > 0) fitted = record.ask;
                    window.push_back(slot);
                    if (window.size() >= options.window) break;
                    continue;
                }
            } else if (room.fits(room.nodes(), ask)) {
                if (auto where = room.place(record.ask); where.ok()) {
                    start(slot, std::move(*where), plan);
                    walk.note_started();
                    continue;
                }
            }
            if (options.policy == Policy::kFifo) return;
            if (!preempts())
                room.refuse(record.ask);
            else if (preempt_for(slot, plan) && !keeps_reservations())
                return;
            if (holds_of_devices < most_holds) hold(slot, true);
        } else if (holds_of_devices < most_holds) {
            hold(slot, true);
            continue;
        }
        walk.close_bucket();
    }
    backfill(std::move(window), plan);
}

void State::backfill(std::vector<Slot> window, Plan& plan) {
    std::vector<std::pair<Time, Slot>> ordered;
    ordered.reserve(window.size());
    for (const Slot slot : window) ordered.emplace_back(predicted(records[slot]), slot);
    if (is_ours())
        std::stable_sort(ordered.begin(), ordered.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
    // From which run time on jobs that ask alike were found to delay what is held.
    std::vector<Time> too_long(room.asks(), kNever);
    for (const auto& [time, slot] : ordered) {
        const Record& record = records[slot];
        if (time >= too_long[record.ask] || room.is_refused(record.ask)) continue;
        const Time ends = now + time;
        if (!quotas.fits(record.queue, room.ask(record.ask).milli) || !spares_quota(record, ends))
            continue;
        std::vector<placement::Placement> where = place_beside_held(record, ends);
        if (where.empty())
            too_long[record.ask] = time;
        else
            start(slot, std::move(where), plan);
    }
}

}  // namespace aliquot::queue
