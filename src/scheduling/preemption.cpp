// SPDX-License-Identifier: Apache-2.0
#include "scheduling/preemption.h"

#include <algorithm>
#include <tuple>

#include "scheduling/fit.h"
#include "scheduling/neighbours.h"

namespace aliquot::scheduling {
namespace {

using Holder = Bookings::Holder;
using Holders = std::vector<Holder>;

constexpr std::size_t kMostPairs = 24;  // pods of one node that are tried two by two

/// A node with those who may have to leave it, cheapest first.
struct Site {
    const ServedNode* node;
    Room room;  // when all have gone that leave already
    Holders holders;
};

bool leaves(const GpuPod& pod, const PreemptionRules& rules) {
    return pod.is_leaving || rules.leaving.contains(pod.uid);
}

/// The pod, with what other pods mean for it.
struct Seeker {
    Seeker(const GpuPod& asks, const Bookings& bookings, const PreemptionRules& rules) : pod(asks) {
        if (!Neighbours::matter(pod, bookings)) return;
        neighbours.emplace(pod, bookings);
        if (!rules.await_leaving) return;
        bookings.visit([&](const GpuPod& one, const std::vector<Target>&) {
            if (!one.node.empty() && leaves(one, rules)) leaving.insert(&one);
        });
    }

    const GpuPod& pod;
    std::optional<Neighbours> neighbours;  // empty: nothing
    Neighbours::Gone leaving;              // who has gone anyway
};

void vacate(Room& room, const Holder& holder) {
    room.give(*holder.units);
    room.give_back(holder.pod->cpu_milli, holder.pod->memory_mib);
}

bool may_go(const GpuPod& pod, const Holder& holder, const PreemptionRules& rules) {
    const GpuPod& one = *holder.pod;
    if (one.priority >= pod.priority || one.stays_put || !one.claim.key.empty()) return false;
    if (one.bound_at.empty() || one.bound_at > rules.bound_before) return false;
    return !rules.spared.contains(one.uid);
}

bool fits_without(const Seeker& seeker, const Site& site, const Holders& gone) {
    Room rest = site.room;
    for (const Holder& one : gone) vacate(rest, one);
    if (!rest.take(seeker.pod)) return false;
    if (!seeker.neighbours) return true;
    Neighbours::Gone all = seeker.leaving;
    for (const Holder& one : gone) all.insert(one.pod);
    return seeker.neighbours->lets_in(*site.node, all);
}

/// Lower is cheaper: how much they matter, then what is lost of their work.
auto cost_of(const Holders& gone) {
    std::int32_t highest = gone.front().pod->priority;
    std::string_view longest = gone.front().pod->bound_at;
    for (const Holder& one : gone) {
        highest = std::max(highest, one.pod->priority);
        longest = std::min(longest, std::string_view(one.pod->bound_at));
    }
    // The later they began, the less is lost; a time that is turned over sorts that way.
    std::string lost(longest);
    for (char& c : lost) c = static_cast<char>('~' - c + ' ');
    return std::tuple(gone.size(), highest, std::move(lost));
}

std::optional<Site> site_of(const GpuPod& pod, const ServedNode& node, const Bookings& bookings,
                            const PreemptionRules& rules) {
    if (!keeps_off(pod, node).empty()) return std::nullopt;
    Site site{.node = &node, .room = Room::now(node, bookings.pools())};
    for (const Holder& one : bookings.holders_on(node.name)) {
        if (leaves(*one.pod, rules)) {
            if (rules.await_leaving) vacate(site.room, one);
        } else if (may_go(pod, one, rules)) {
            site.holders.push_back(one);
        }
    }
    std::sort(site.holders.begin(), site.holders.end(), [](const Holder& a, const Holder& b) {
        return std::tuple(cost_of({a}), std::string_view(a.pod->uid)) <
               std::tuple(cost_of({b}), std::string_view(b.pod->uid));
    });
    return site;
}

/// One by one, the cheapest first; who is not needed in the end is left out, the dearest first.
Holders several(const Seeker& seeker, const Site& site) {
    Holders gone;
    for (const Holder& one : site.holders) {
        if (!gone.empty() && fits_without(seeker, site, gone)) break;
        gone.push_back(one);
    }
    if (!fits_without(seeker, site, gone)) return {};  // or only without some of them
    for (std::size_t i = gone.size(); i-- > 0;) {
        Holders without = gone;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        if (fits_without(seeker, site, without)) gone = std::move(without);
    }
    return gone;
}

/// The cheapest `count` of one node that are enough; of 3: any number.
Holders cheapest(const Seeker& seeker, const Site& site, unsigned count) {
    if (count > 2) return several(seeker, site);
    Holders best;
    const auto consider = [&](Holders gone) {
        if (!fits_without(seeker, site, gone)) return;
        if (best.empty() || cost_of(gone) < cost_of(best)) best = std::move(gone);
    };
    if (count == 1) {
        for (const Holder& one : site.holders) consider({one});
        return best;
    }
    const std::size_t most = std::min(site.holders.size(), kMostPairs);
    for (std::size_t i = 0; i < most; ++i) {
        for (std::size_t k = i + 1; k < most; ++k) consider({site.holders[i], site.holders[k]});
    }
    return best;
}

}  // namespace

std::optional<Preemption> preemption_for(const GpuPod& pod, const Bookings& bookings,
                                         const PreemptionRules& rules) {
    if (!pod.may_preempt || pod.devices.empty()) return std::nullopt;
    const Seeker seeker(pod, bookings, rules);
    std::vector<Site> sites;
    std::string vacated;  // the first where those who leave are enough
    for (const auto& [name, node] : bookings.nodes()) {
        auto site = site_of(pod, node, bookings, rules);
        if (!site) continue;
        if (fits_without(seeker, *site, {})) {
            // Where others were evicted for it before.
            if (node.kept_for.holder == pod.holder()) return Preemption{.node = name};
            if (vacated.empty()) vacated = name;
        }
        if (!site->holders.empty()) sites.push_back(*std::move(site));
    }
    if (!vacated.empty()) return Preemption{.node = std::move(vacated)};
    for (const unsigned count : {1U, 2U, 3U}) {
        const Site* where = nullptr;
        Holders best;
        for (const Site& site : sites) {
            Holders gone = cheapest(seeker, site, count);
            if (gone.empty()) continue;
            if (!best.empty() && !(cost_of(gone) < cost_of(best))) continue;
            best = std::move(gone);
            where = &site;
        }
        if (where == nullptr) continue;
        Preemption made{.node = where->node->name};
        for (const Holder& one : best) made.victims.push_back(*one.pod);
        return made;
    }
    return std::nullopt;
}

}  // namespace aliquot::scheduling
