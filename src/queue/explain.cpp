// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "queue/outlook.h"
#include "queue/state.h"
#include "queue/walk.h"

namespace aliquot::queue {
namespace {

constexpr std::int32_t kShareStep = 100;  // milli between two shares that are proposed

}  // namespace

void State::name_holders(const Record& record, Explanation& made) const {
    const Ask& ask = room.ask(record.ask);
    const PoolId pool = quotas.pool(record.queue);
    std::int64_t own = quotas.own_room(record.queue);
    std::int64_t all = quotas.pool_room(pool);
    const bool own_limited = own != INT64_MAX;
    const bool all_limited = all != INT64_MAX;
    Outlook outlook(room, ask, room.nodes());
    const auto fits = [&] { return own >= ask.milli && all >= ask.milli && outlook.fits(); };
    const bool by_quota = own < ask.milli || all < ask.milli;
    std::vector<std::pair<Holder, Slot>> ended;
    made.earliest = now;
    for (const auto& [ends, slot] : running) {
        if (fits()) break;
        const Record& other = records[slot];
        for (const placement::Placement& pod : other.where)
            outlook.free(room.ask(other.ask), pod.node, Room::spot_of(pod));
        const bool own_queue = other.queue == record.queue;
        const bool own_pool = quotas.pool(other.queue) == pool;
        if (own_limited && own_queue) own += other.milli;
        if (all_limited && own_pool) all += other.milli;
        made.earliest = ends;
        if (!by_quota || own_pool) ended.push_back({{other.id, other.milli, ends}, slot});
    }
    if (!fits()) {
        made.earliest = kNever;
        return;
    }
    // Of those that end until then, whoever is on the nodes that it gets; a quota is held by all of them.
    Nodes nodes = outlook.take_nodes();
    const std::vector<PodSpot> spots = room.take_on(nodes, ask);
    for (const auto& [holder, slot] : ended) {
        const auto& where = records[slot].where;
        const bool there =
            by_quota || std::any_of(where.begin(), where.end(), [&](const auto& pod) {
                return std::any_of(spots.begin(), spots.end(),
                                   [&](const PodSpot& spot) { return spot.node == pod.node; });
            });
        if (!there) continue;
        if (made.holders.size() < Explanation::kMostNamed)
            made.holders.push_back(holder);
        else
            ++made.more_holders;
    }
}

std::optional<Explanation::Smaller> State::smaller(Slot slot) const {
    const Record& record = records[slot];
    const Ask& ask = room.ask(record.ask);
    if (ask.request.gpus == 0 || !ask.request.mig_profile.empty()) return std::nullopt;
    const Time ends = now + predicted(record);
    // What it is promised itself is no obstacle: it would give that up.
    const Nodes nodes = free_beside_held(ends, slot);
    std::int64_t most =
        std::min(quotas.own_room(record.queue), quotas.pool_room(quotas.pool(record.queue)));
    for (const Held& one : held) {
        if (one.slot == slot || one.at >= ends || one.pool != quotas.pool(record.queue)) continue;
        most = std::min(most, one.pool_spare);
        if (one.queue == record.queue) most = std::min(most, one.queue_spare);
    }
    std::optional<Explanation::Smaller> best;
    std::int64_t best_milli = 0;
    const auto consider = [&](std::uint32_t gang, unsigned gpus, std::int32_t milli) {
        const Ask less = room.like(ask, gang, gpus, milli);
        if (less.milli <= best_milli || less.milli > most || !room.fits(nodes, less)) return;
        best_milli = less.milli;
        best = Explanation::Smaller{gang, static_cast<std::uint8_t>(gpus), milli};
    };
    std::uint32_t pods = 0;
    for (std::size_t i = 0; i < nodes.size() && pods + 1 < ask.gang; ++i)
        if (room.may_use(ask, static_cast<placement::NodeId>(i)))
            pods += room.pods_on(nodes[i], ask, ask.gang - 1 - pods);
    const std::int64_t each = std::max<std::int64_t>(1, ask.milli / ask.gang);
    pods = static_cast<std::uint32_t>(std::clamp<std::int64_t>(most / each, 0, pods));
    if (pods > 0) consider(pods, ask.request.gpus, ask.request.milli);
    for (unsigned gpus = ask.request.gpus; gpus-- > 1;) consider(ask.gang, gpus, ask.request.milli);
    if (best || ask.request.gpus != 1 || ask.request.milli == 0) return best;
    const std::int32_t next = (ask.request.milli - 1) / kShareStep * kShareStep;
    for (std::int32_t milli = next; milli > 0 && !best; milli -= kShareStep)
        consider(ask.gang, 1, milli);
    return best;
}

Explanation State::explain(Slot slot) {
    const Record& record = records[slot];
    Explanation made{.id = record.id, .eta = record.eta};
    if (record.runs) {
        made.why = Explanation::Why::kRuns;
        made.earliest = record.since;
        return made;
    }
    Walk walk(*this, Walk::Over::kAll);
    for (Slot next = walk.next(); next != kNoSlot; next = walk.next()) {
        ++made.position;
        if (next == slot) break;
        if (made.ahead.size() < Explanation::kMostNamed) made.ahead.push_back(records[next].id);
    }
    const Ask& ask = room.ask(record.ask);
    const Time ends = now + predicted(record);
    if (!room.fits_empty(record.ask) || !quotas.ever_fits(record.queue, ask.milli)) {
        made.why = Explanation::Why::kImpossible;
        made.smaller = smaller(slot);
        return made;
    }
    name_holders(record, made);
    if (!quotas.fits(record.queue, ask.milli)) {
        made.why = Explanation::Why::kQuota;
    } else if (!room.fits(room.nodes(), ask)) {
        made.why = Explanation::Why::kDevices;
    } else if (std::none_of(held.begin(), held.end(),
                            [&](const Held& one) { return one.slot == slot; }) &&
               (!spares_quota(record, ends) || !room.fits(free_beside_held(ends), ask))) {
        made.why = Explanation::Why::kReservation;
        for (const Held& one : held)
            if (one.at < ends && !made.promised) made.promised = records[one.slot].id;
    }
    if (made.why != Explanation::Why::kNext) made.smaller = smaller(slot);
    return made;
}

}  // namespace aliquot::queue
