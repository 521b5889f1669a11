// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "queue/outlook.h"
#include "queue/state.h"

namespace aliquot::queue {
namespace {

using placement::Node;
using placement::NodeTable;
using placement::Placement;

}  // namespace

bool State::is_beside_held(const Record& record) const {
    if (holds_of_devices > 0) return true;
    return std::any_of(held.begin(), held.end(),
                       [&](const Held& one) { return one.pool == quotas.pool(record.queue); });
}

bool State::spares_quota(const Record& record, Time ends) const {
    const std::int64_t milli = room.ask(record.ask).milli;
    return std::none_of(held.begin(), held.end(), [&](const Held& one) {
        if (one.at >= ends || one.pool != quotas.pool(record.queue)) return false;
        return milli > one.pool_spare || (one.queue == record.queue && milli > one.queue_spare);
    });
}

Time State::quota_free_at(const Record& record, Held& mine) const {
    const std::int64_t milli = room.ask(record.ask).milli;
    std::int64_t own = quotas.own_room(record.queue);
    std::int64_t pool = quotas.pool_room(mine.pool);
    const bool own_limited = own != INT64_MAX;
    const bool pool_limited = pool != INT64_MAX;
    for (const Held& one : held) {
        if (one.pool != mine.pool) continue;
        const std::int64_t theirs = room.ask(records[one.slot].ask).milli;
        if (pool_limited) pool -= theirs;
        if (own_limited && one.queue == record.queue) own -= theirs;
    }
    Time at = now;
    auto next = in_pool[mine.pool].begin();
    const auto end = in_pool[mine.pool].end();
    // Also what ends at the same moment.
    while (next != end && (own < milli || pool < milli || next->first <= std::max(at, mine.at))) {
        const Record& other = records[next->second];
        if (own < milli || pool < milli) at = next->first;
        if (pool_limited) pool += other.milli;
        if (own_limited && other.queue == record.queue) own += other.milli;
        ++next;
    }
    if (own < milli || pool < milli) return kNever;
    mine.queue_spare = own_limited ? own - milli : INT64_MAX;
    mine.pool_spare = pool_limited ? pool - milli : INT64_MAX;
    return std::max(at, mine.at);
}

/// Finds when the devices are free for it, from mine.at on; false: not as far as is known.
bool State::hold_devices(const Ask& ask, Held& mine) const {
    const Held* before = nullptr;  // the last that devices are held for: this one comes after it
    for (const Held& one : held)
        if (!one.nodes.empty()) before = &one;
    struct End {
        Time at = 0;
        Slot slot = kNoSlot;
        const std::vector<PodSpot>* spots = nullptr;  // null: of a running job
    };
    std::vector<End> ends;
    ends.reserve(running.size());
    const Time from = before != nullptr ? before->at : kNever;
    for (const auto& [at, slot] : running)
        if (before == nullptr || at > from) ends.push_back({at, slot});
    for (const Held& one : held)
        if (!one.nodes.empty())
            ends.push_back({one.at + predicted(records[one.slot]), one.slot, &one.spots});
    if (before != nullptr) {
        mine.at = std::max(mine.at, from);
        std::stable_sort(ends.begin(), ends.end(),
                         [](const End& a, const End& b) { return a.at < b.at; });
    }
    Outlook outlook(room, ask, before != nullptr ? before->nodes : room.nodes());
    // Nothing frees devices and yet they were refused: a rule that this outlook does not know.
    const bool refused_by_rule = outlook.fits() && mine.at == now;
    for (const End& end : ends) {
        if (end.at > mine.at) {
            if (outlook.fits()) break;
            mine.at = end.at;
        }
        const Ask& theirs = room.ask(records[end.slot].ask);
        if (end.spots != nullptr)
            for (const PodSpot& pod : *end.spots) outlook.free(theirs, pod.node, pod.spot);
        else
            for (const Placement& pod : records[end.slot].where)
                outlook.free(theirs, pod.node, Room::spot_of(pod));
    }
    if (!outlook.fits() || (refused_by_rule && mine.at == now)) return false;
    mine.nodes = outlook.take_nodes();
    mine.spots = room.take_on(mine.nodes, ask);
    return !mine.spots.empty();
}

void State::hold(Slot slot, bool devices) {
    const Record& record = records[slot];
    Held mine{.slot = slot, .at = now, .queue = record.queue, .pool = quotas.pool(record.queue)};
    const bool limited = quotas.is_limited(record.queue);
    if (limited) mine.at = quota_free_at(record, mine);
    if (mine.at == kNever) return;
    if (devices) {
        if (!hold_devices(room.ask(record.ask), mine)) return;
        if (limited) mine.at = quota_free_at(record, mine);  // what is spare then
        ++holds_of_devices;
    }
    held.push_back(std::move(mine));
}

bool State::take_from_held(const Record& record, Time ends, const std::vector<Placement>& where) {
    const Ask& ask = room.ask(record.ask);
    struct Taken {
        Held* held = nullptr;
        const Placement* pod = nullptr;
    };
    std::vector<Taken> taken;
    for (Held& one : held) {
        if (one.nodes.empty() || one.at >= ends) continue;
        for (const Placement& pod : where) {
            const placement::Spot spot = Room::spot_of(pod);
            Node& node = one.nodes[pod.node];
            if (!NodeTable::fits_at(node, ask.shape, spot)) {
                for (const Taken& back : taken)
                    NodeTable::put_back(back.held->nodes[back.pod->node], ask.shape,
                                        Room::spot_of(*back.pod));
                return false;
            }
            NodeTable::take_from(node, ask.shape, spot);
            taken.push_back({&one, &pod});
        }
    }
    for (Held& one : held) {
        if (one.at >= ends || one.pool != quotas.pool(record.queue)) continue;
        if (one.pool_spare != INT64_MAX) one.pool_spare -= ask.milli;
        if (one.queue == record.queue && one.queue_spare != INT64_MAX) one.queue_spare -= ask.milli;
    }
    return true;
}

Nodes State::free_beside_held(Time ends, Slot except) const {
    Nodes common = room.nodes();
    for (const Held& one : held)
        if (!one.nodes.empty() && one.at < ends && one.slot != except)
            for (std::size_t i = 0; i < common.size(); ++i)
                NodeTable::keep_common(common[i], one.nodes[i]);
    return common;
}

std::vector<Placement> State::place_beside_held(const Record& record, Time ends) {
    auto first = room.place(record.ask);
    if (!first) {
        room.refuse(record.ask);
        return {};
    }
    if (take_from_held(record, ends, *first)) return std::move(*first);
    room.release(record.ask, *first);
    // The engine's choice would be in the way.
    Nodes common = free_beside_held(ends);
    std::vector<Placement> where;
    for (const PodSpot& pod : room.take_on(common, room.ask(record.ask)))
        where.push_back(Room::placement_of(pod));
    if (where.empty()) return {};
    auto placed = room.place_at(record.ask, where);
    if (!placed) return {};
    if (take_from_held(record, ends, *placed)) return std::move(*placed);
    room.release(record.ask, *placed);
    return {};
}

}  // namespace aliquot::queue
