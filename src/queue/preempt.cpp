// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "queue/state.h"

namespace aliquot::queue {
namespace {

using placement::NodeTable;

}  // namespace

/// Running jobs that may be ended for it, those that should go first at the front.
std::vector<Slot> State::candidates_for(const Record& record) const {
    std::vector<Slot> found;
    if (options.policy == Policy::kSrtf) {
        std::vector<std::pair<Time, Slot>> longer;
        for (const auto& [ends, slot] : running) {
            const Record& other = records[slot];
            const Time left = ends_of(other, now) - now;  // of now, not of when it started
            if (other.preemptible && left > record.rank) longer.emplace_back(left, slot);
        }
        std::sort(longer.rbegin(), longer.rend());
        for (const auto& [left, slot] : longer) found.push_back(slot);
        return found;
    }
    const PoolId pool = quotas.pool(record.queue);
    for (const auto& [ends, slot] : in_pool[pool]) {
        const Record& other = records[slot];
        if (other.preemptible && other.queue != record.queue && quotas.borrowed(other.queue) > 0 &&
            now - other.since >= quotas.queue(other.queue).min_run)
            found.push_back(slot);
    }
    // Of the queue that borrows most, the lowest priority, the latest start: what loses least.
    std::sort(found.begin(), found.end(), [&](Slot a, Slot b) {
        const Record& x = records[a];
        const Record& y = records[b];
        const std::int64_t borrowed_x = quotas.borrowed(x.queue);
        const std::int64_t borrowed_y = quotas.borrowed(y.queue);
        if (borrowed_x != borrowed_y) return borrowed_x > borrowed_y;
        if (x.priority != y.priority) return x.priority < y.priority;
        if (x.since != y.since) return x.since > y.since;
        return x.id < y.id;
    });
    return found;
}

bool State::preempt_for(Slot slot, Plan& plan) {
    const Record& record = records[slot];
    const Ask& ask = room.ask(record.ask);
    const bool by_time = options.policy == Policy::kSrtf;
    if (!by_time && !quotas.within_quota(record.queue, ask.milli)) return false;
    // As if those who leave already had left.
    Nodes nodes = room.nodes();
    std::int64_t spare = quotas.pool_room(quotas.pool(record.queue));
    const bool limited = spare != INT64_MAX;
    const auto give_back = [&](const Record& other) {
        for (const placement::Placement& pod : other.where)
            NodeTable::put_back(nodes[pod.node], room.ask(other.ask).shape, Room::spot_of(pod));
        if (limited && quotas.pool(other.queue) == quotas.pool(record.queue)) spare += other.milli;
    };
    for (const auto& [ends, other] : running)
        if (records[other].leaving) give_back(records[other]);
    const auto fits = [&] { return (!limited || spare >= ask.milli) && room.fits(nodes, ask); };
    if (fits()) return true;  // it waits for them
    std::vector<Slot> victims;
    std::vector<std::int64_t> left(quotas.size());  // what each queue borrows beside its victims
    for (QueueId id = 0; id < quotas.size(); ++id) left[id] = quotas.borrowed(id);
    for (const Slot other : candidates_for(record)) {
        const Record& victim = records[other];
        if (victim.leaving || (!by_time && left[victim.queue] <= 0)) continue;
        left[victim.queue] -= victim.milli;
        give_back(victim);
        victims.push_back(other);
        if (fits()) break;
    }
    if (!fits()) return false;
    // Those who turn out not to be needed stay: the last named first.
    for (std::size_t i = victims.size(); i-- > 0;) {
        const Record& victim = records[victims[i]];
        const Nodes before = nodes;
        for (const placement::Placement& pod : victim.where)
            NodeTable::take_from(nodes[pod.node], room.ask(victim.ask).shape, Room::spot_of(pod));
        if (limited) spare -= victim.milli;
        if (fits()) {
            victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(i));
            continue;
        }
        nodes = before;
        if (limited) spare += victim.milli;
    }
    for (const Slot other : victims) {
        Record& victim = records[other];
        victim.leaving = true;
        expect_end(other, now + 1);
        plan.preempts.push_back(victim.id);
    }
    return true;
}

}  // namespace aliquot::queue
