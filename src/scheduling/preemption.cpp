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

constexpr std::size_t kMostPairs = 24;   // pods of one node that are tried two by two
constexpr std::size_t kMostSites = 256;  // nodes where three and more are tried

/// A node with those who may have to leave it, cheapest first.
struct Site {
    const ServedNode* node;
    Room room;  // when all have gone that leave already
    Holders holders;
    std::vector<unsigned> freed;  // [n]: at most, of what is mainly asked, when n of them go

    [[nodiscard]] bool may_do(std::size_t count, unsigned asked) const {
        return freed[std::min(count, freed.size() - 1)] >= asked;
    }
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

/// Whether `rest`, what the site has when those have gone, is enough.
bool is_enough(const Seeker& seeker, const Site& site, Room rest, const Holders& gone) {
    if (!rest.take(seeker.pod)) return false;
    if (!seeker.neighbours) return true;
    Neighbours::Gone all = seeker.leaving;
    for (const Holder& one : gone) all.insert(one.pod);
    return seeker.neighbours->lets_in(*site.node, all);
}

bool fits_without(const Seeker& seeker, const Site& site, const Holders& gone) {
    Room rest = site.room;
    for (const Holder& one : gone) vacate(rest, one);
    return is_enough(seeker, site, std::move(rest), gone);
}

/// Lower is cheaper: how many they are and how much they matter, then what is lost of their work.
struct Cost {
    std::size_t count = 0;
    std::int32_t highest = 0;
    std::string_view longest;  // since when the one has run that runs for the longest time

    explicit Cost(const Holders& gone)
        : count(gone.size()),
          highest(gone.front().pod->priority),
          longest(gone.front().pod->bound_at) {
        for (const Holder& one : gone) {
            highest = std::max(highest, one.pod->priority);
            longest = std::min(longest, std::string_view(one.pod->bound_at));
        }
    }
    bool operator<(const Cost& other) const {
        const std::tuple own(count, highest);
        const std::tuple others(other.count, other.highest);
        return own < others || (own == others && longest > other.longest);
    }
};

bool is_cheaper(const Holders& gone, const Holders& best) {
    return best.empty() || Cost(gone) < Cost(best);
}

void add_freed(Site& site, const std::string& resource) {
    std::vector<unsigned> each;
    for (const Holder& one : site.holders) {
        unsigned units = 0;
        const auto held = one.units->find(resource);
        if (held != one.units->end()) {
            for (const auto& gpu : held->second) units += gpu.second;
        }
        each.push_back(units);
    }
    std::sort(each.rbegin(), each.rend());
    unsigned free = 0;
    for (const Room::Slot& slot : site.room.slots())
        free += slot.resource == resource ? slot.free : 0;
    site.freed = {free};
    for (const unsigned units : each) site.freed.push_back(site.freed.back() + units);
}

/// Empty: the pod may not go there, or not even if all had gone.
std::optional<Site> site_of(const GpuPod& pod, const ServedNode& node, const Bookings& bookings,
                            const Holders& holders, const PreemptionRules& rules) {
    if (!keeps_off(pod, node).empty()) return std::nullopt;
    Site site{.node = &node, .room = Room::now(node, bookings.pools()), .holders = {}, .freed = {}};
    for (const Holder& one : holders) {
        if (leaves(*one.pod, rules)) {
            if (rules.await_leaving) vacate(site.room, one);
        } else if (may_go(pod, one, rules)) {
            site.holders.push_back(one);
        }
    }
    Room all = site.room;
    for (const Holder& one : site.holders) vacate(all, one);
    if (!all.take(pod)) return std::nullopt;
    std::sort(site.holders.begin(), site.holders.end(), [](const Holder& a, const Holder& b) {
        if (is_cheaper({a}, {b})) return true;
        return !is_cheaper({b}, {a}) && a.pod->uid < b.pod->uid;
    });
    add_freed(site, pod.devices.front().resource);
    return site;
}

/// One by one, the cheapest first; who is not needed in the end is left out, the dearest first.
Holders several(const Seeker& seeker, const Site& site) {
    Holders gone;
    Room rest = site.room;
    bool enough = false;
    for (const Holder& one : site.holders) {
        gone.push_back(one);
        vacate(rest, one);
        enough = is_enough(seeker, site, rest, gone);
        if (enough) break;
    }
    if (!enough) return {};  // or only without some of them
    for (std::size_t i = gone.size(); i-- > 0;) {
        Holders without = gone;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        if (fits_without(seeker, site, without)) gone = std::move(without);
    }
    return gone;
}

/// Takes into `best` what is cheaper than that, of `count` pods of the site that are enough.
bool improve(const Seeker& seeker, const Site& site, unsigned count, Holders& best) {
    bool better = false;
    const auto consider = [&](Holders gone) {
        if (!is_cheaper(gone, best) || !fits_without(seeker, site, gone)) return;
        best = std::move(gone);
        better = true;
    };
    if (count == 1) {
        for (const Holder& one : site.holders) consider({one});
        return better;
    }
    const std::size_t most = std::min(site.holders.size(), kMostPairs);
    for (std::size_t i = 0; i < most; ++i) {
        for (std::size_t k = i + 1; k < most; ++k) consider({site.holders[i], site.holders[k]});
    }
    return better;
}

bool improve_by_several(const Seeker& seeker, const Site& site, Holders& best) {
    const unsigned asked = seeker.pod.devices.front().count;
    if (!best.empty() && !site.may_do(best.size(), asked)) return false;
    Holders gone = several(seeker, site);
    if (gone.empty() || !is_cheaper(gone, best)) return false;
    best = std::move(gone);
    return true;
}

}  // namespace

std::optional<Preemption> preemption_for(const GpuPod& pod, const Bookings& bookings,
                                         const PreemptionRules& rules) {
    if (!pod.may_preempt || pod.devices.empty()) return std::nullopt;
    const Seeker seeker(pod, bookings, rules);
    const auto holders = bookings.holders();
    std::vector<Site> sites;
    std::string vacated;  // the first where those who leave are enough
    for (const auto& [name, node] : bookings.nodes()) {
        const auto here = holders.find(name);
        if (here == holders.end()) continue;
        auto site = site_of(pod, node, bookings, here->second, rules);
        if (!site) continue;
        if (fits_without(seeker, *site, {})) {
            // Where others were evicted for it before.
            if (node.kept_for.holder == pod.holder()) return Preemption{.node = name};
            if (vacated.empty()) vacated = name;
        }
        if (!site->holders.empty()) sites.push_back(*std::move(site));
    }
    if (!vacated.empty()) return Preemption{.node = std::move(vacated)};
    const Site* where = nullptr;
    Holders best;
    for (const unsigned count : {1U, 2U}) {
        for (const Site& site : sites) {
            if (where != nullptr && best.size() < count) break;
            if (!site.may_do(count, pod.devices.front().count)) continue;
            if (improve(seeker, site, count, best)) where = &site;
        }
    }
    for (std::size_t i = 0; i < std::min(sites.size(), kMostSites); ++i) {
        if (where != nullptr && best.size() < 3) break;
        if (improve_by_several(seeker, sites[i], best)) where = &sites[i];
    }
    if (where == nullptr) return std::nullopt;
    Preemption made{.node = where->node->name};
    for (const Holder& one : best) made.victims.push_back(*one.pod);
    return made;
}

}  // namespace aliquot::scheduling
