// SPDX-License-Identifier: Apache-2.0
#include "scheduling/defrag.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "scheduling/fit.h"

namespace aliquot::scheduling {
namespace {

using GpuName = std::pair<std::string, std::string>;  // node, uuid
using Rooms = std::map<std::string, Room>;            // by node

/// A pod that may be moved, as it is before any move.
struct Mover {
    std::string uid;
    std::string name;  // NAMESPACE/NAME
    std::string node;
    std::int32_t priority = 0;
    unsigned units = 0;  // in all
};

/// What is to be cleared.
struct ToClear {
    std::string node;
    std::string gpu;  // empty: the node
    std::vector<const Mover*> pods;
    std::size_t gpus = 1;    // that it has
    unsigned used_gpus = 0;  // of the node
    unsigned units = 0;      // of the pods

    [[nodiscard]] std::int32_t priority() const {
        std::int32_t most = pods.front()->priority;
        for (const Mover* const one : pods) most = std::max(most, one->priority);
        return most;
    }
    /// By moves for each GPU that is cleared.
    bool operator<(const ToClear& other) const {
        return std::tuple(pods.size() * other.gpus, priority(), used_gpus, units,
                          std::string_view(node), std::string_view(gpu)) <
               std::tuple(other.pods.size() * gpus, other.priority(), other.used_gpus, other.units,
                          std::string_view(other.node), std::string_view(other.gpu));
    }
};

/// What nodes have left for pods that are moved.
struct Spot {
    const ServedNode* node;
    Room used;  // GPUs that are in use alone
    Room all;
    bool is_free = false;  // nobody uses the node
};

class Planner {
public:
    Planner(Bookings& bookings, const MoveRules& rules)
        : bookings_(bookings), rules_(rules), moves_(bookings, rules) {}
    DefragPlan plan();

private:
    void look_at_pods();
    void look_at(const Bookings::Holder& holder);
    void pin_what_nobody_tells_of();
    void look_at_place(const std::string& node);
    [[nodiscard]] unsigned used_gpus(const ServedNode& node) const;
    [[nodiscard]] std::vector<ToClear> gpus_to_clear() const;
    [[nodiscard]] std::vector<ToClear> nodes_to_clear() const;
    bool clear(const ToClear& source);
    [[nodiscard]] bool is_better(const WhollyFree& before, const ToClear& source) const;
    std::optional<std::vector<Target>> places_for(const ToClear& source) const;
    std::optional<Target> place_for(const GpuPod& pod, const ToClear& source, Rooms& used,
                                    Rooms& all) const;
    [[nodiscard]] Room room_of(const Spot& place, const ToClear& source, bool in_use) const;
    [[nodiscard]] std::pair<bool, unsigned> rank(const Room& before, const Target& target) const;

    Bookings& bookings_;
    const MoveRules& rules_;
    Moves moves_;
    DefragPlan plan_;
    std::map<std::string, Mover> movers_;                        // by uid
    std::map<GpuName, std::vector<const Mover*>> holders_;       // that may be moved
    std::map<std::pair<GpuName, std::string>, unsigned> known_;  // units by resource
    std::set<GpuName> pinned_;                                   // that cannot be cleared
    std::map<std::string, Spot> places_;
};

// ---- what there is --------------------------------------------------------------------------------

void Planner::look_at(const Bookings::Holder& holder) {
    const GpuPod& pod = *holder.pod;
    std::string why = why_it_stays(pod, rules_);
    const auto& granted = bookings_.nodes().at(pod.node).granted;
    if (why.empty() && !granted.contains(pod.uid)) why = "hold GPUs that no agent has told of yet";
    unsigned units = 0;
    std::set<std::string> gpus;
    for (const auto& [resource, by_gpu] : *holder.units) {
        for (const auto& [gpu, count] : by_gpu) {
            known_[{{pod.node, gpu}, resource}] += count;
            units += count;
            gpus.insert(gpu);
        }
    }
    if (!why.empty()) ++plan_.staying[why];
    const Mover* mover = nullptr;
    if (why.empty()) {
        mover = &movers_
                     .insert_or_assign(pod.uid, Mover{.uid = pod.uid,
                                                      .name = pod.full_name(),
                                                      .node = pod.node,
                                                      .priority = pod.priority,
                                                      .units = units})
                     .first->second;
    }
    for (const std::string& gpu : gpus) {
        if (mover == nullptr)
            pinned_.insert({pod.node, gpu});
        else
            holders_[{pod.node, gpu}].push_back(mover);
    }
}

/// What is only planned, or held by pods that nobody has told of.
void Planner::pin_what_nobody_tells_of() {
    for (const Pool& pool : bookings_.pools().all()) {
        for (unsigned i = 0; i < pool.gpus.size(); ++i) {
            const GpuName gpu{pool.node, pool.gpus[i]};
            const auto known = known_.find({gpu, pool.resource});
            const unsigned told = known == known_.end() ? 0 : known->second;
            if (told != pool.units - bookings_.pools().free_units(pool, i)) pinned_.insert(gpu);
        }
    }
}

void Planner::look_at_pods() {
    for (const auto& [node, holders] : bookings_.holders()) {
        if (!bookings_.nodes().contains(node)) continue;
        for (const auto& holder : holders) {
            if (!holder.units->empty()) look_at(holder);
        }
    }
    pin_what_nobody_tells_of();
}

void Planner::look_at_place(const std::string& name) {
    const ServedNode& node = bookings_.nodes().at(name);
    const Room now = Room::now(node, bookings_.pools());
    Spot place{.node = &node, .used = now, .all = now, .is_free = used_gpus(node) == 0};
    for (const ServedGpu& gpu : node.gpus) {
        if (is_wholly_free(bookings_, name, gpu.uuid)) place.used.close(gpu.uuid);
    }
    places_.insert_or_assign(name, std::move(place));
}

unsigned Planner::used_gpus(const ServedNode& node) const {
    return static_cast<unsigned>(std::count_if(
        node.gpus.begin(), node.gpus.end(),
        [&](const ServedGpu& gpu) { return !is_wholly_free(bookings_, node.name, gpu.uuid); }));
}

// ---- what could be cleared ------------------------------------------------------------------------

std::vector<ToClear> Planner::gpus_to_clear() const {
    std::vector<ToClear> sources;
    for (const auto& [gpu, pods] : holders_) {
        const ServedNode& node = bookings_.nodes().at(gpu.first);
        if (!node.is_open || pinned_.contains(gpu) || pods.size() > rules_.most_moves) continue;
        ToClear source{
            .node = gpu.first, .gpu = gpu.second, .pods = pods, .used_gpus = used_gpus(node)};
        for (const Mover* const one : pods) source.units += one->units;
        sources.push_back(std::move(source));
    }
    std::sort(sources.begin(), sources.end());
    return sources;
}

std::vector<ToClear> Planner::nodes_to_clear() const {
    std::vector<ToClear> sources;
    for (const auto& [name, node] : bookings_.nodes()) {
        std::set<const Mover*> pods;
        bool can_be = node.is_open;
        for (const ServedGpu& gpu : node.gpus) {
            const GpuName key{name, gpu.uuid};
            can_be = can_be && !pinned_.contains(key);
            const auto here = holders_.find(key);
            if (here != holders_.end()) pods.insert(here->second.begin(), here->second.end());
        }
        std::erase_if(pods, [&](const Mover* one) {
            return bookings_.holder_of(one->uid).pod == nullptr;  // it was moved
        });
        if (!can_be || pods.empty() || pods.size() > rules_.most_moves) continue;
        ToClear source{.node = name,
                       .gpu = {},
                       .pods = {pods.begin(), pods.end()},
                       .gpus = node.gpus.size(),
                       .used_gpus = used_gpus(node)};
        for (const Mover* const one : source.pods) source.units += one->units;
        sources.push_back(std::move(source));
    }
    std::sort(sources.begin(), sources.end());
    return sources;
}

// ---- where its pods go ----------------------------------------------------------------------------

/// What of the node its pods may take. Of a GPU that is cleared its node's other GPUs will do, too.
Room Planner::room_of(const Spot& place, const ToClear& source, bool in_use) const {
    Room room = in_use ? place.used : place.all;
    if (place.node->name == source.node) room.close(source.gpu);
    return room;
}

/// Lower is better: GPUs that stay in use anyway, then those that are left fullest.
std::pair<bool, unsigned> Planner::rank(const Room& before, const Target& target) const {
    bool stays = true;
    unsigned left = 0;
    for (const auto& [resource, gpus] : target.units) {
        for (const auto& [gpu, count] : gpus) {
            stays = stays && pinned_.contains({target.node, gpu});
            for (const Room::Slot& slot : before.slots()) {
                if (slot.resource == resource && slot.gpu == gpu) left += slot.free - count;
            }
        }
    }
    return {!stays, left};
}

/// used, all   what is left of nodes that others of the source go to; others are added
std::optional<Target> Planner::place_for(const GpuPod& pod, const ToClear& source, Rooms& used,
                                         Rooms& all) const {
    const DeviceRequest& main = pod.devices.front();
    const auto has_some = [&](const Room& room) {
        unsigned free = 0;
        for (const Room::Slot& slot : room.slots())
            free += slot.resource == main.resource ? slot.free : 0;
        return free >= main.count;
    };
    for (const bool in_use : {true, false}) {
        if (!in_use && !source.gpu.empty()) break;  // it would cost the GPU that is won
        Rooms& begun = in_use ? used : all;
        std::optional<Target> best;
        std::pair<bool, unsigned> best_rank;
        for (const auto& [name, place] : places_) {
            if (place.is_free || (source.gpu.empty() && name == source.node)) continue;
            const auto known = begun.find(name);
            if (!has_some(known != begun.end() ? known->second : in_use ? place.used : place.all))
                continue;
            const Room before =
                known != begun.end() ? known->second : room_of(place, source, in_use);
            Room room = before;
            auto units = room.take(pod);
            if (!units || !keeps_off(pod, *place.node).empty()) continue;
            Target target{.node = name, .units = *std::move(units)};
            const auto here = rank(before, target);
            if (best && best_rank <= here) continue;
            best = std::move(target);
            best_rank = here;
        }
        if (!best) continue;
        for (Rooms* const rooms : {&used, &all}) {
            const Spot& place = places_.at(best->node);
            const auto room =
                rooms->try_emplace(best->node, room_of(place, source, rooms == &used)).first;
            (void)room->second.take_these(pod, best->units);  // one that was free is not in `used`
        }
        return best;
    }
    return std::nullopt;
}

std::optional<std::vector<Target>> Planner::places_for(const ToClear& source) const {
    std::vector<Target> targets;
    Rooms used;
    Rooms all;
    for (const Mover* const one : source.pods) {
        const auto holder = bookings_.holder_of(one->uid);
        if (holder.pod == nullptr) return std::nullopt;  // it was moved
        auto target = place_for(next_of(*holder.pod, bookings_), source, used, all);
        if (!target) return std::nullopt;
        targets.push_back(*std::move(target));
    }
    return targets;
}

// ---- clearing -------------------------------------------------------------------------------------

bool Planner::is_better(const WhollyFree& before, const ToClear& source) const {
    const WhollyFree after = wholly_free(bookings_);
    if (!source.gpu.empty()) return after.gpus > before.gpus && after.nodes >= before.nodes;
    return after.nodes > before.nodes && after.gpus >= before.gpus;
}

/// All of its pods are moved, or none.
bool Planner::clear(const ToClear& asked) {
    ToClear source = asked;
    std::sort(source.pods.begin(), source.pods.end(), [](const Mover* a, const Mover* b) {
        return std::tuple(b->units, std::string_view(a->name), std::string_view(a->uid)) <
               std::tuple(a->units, std::string_view(b->name), std::string_view(b->uid));
    });
    const std::size_t begin = moves_.made().size();
    if (begin + source.pods.size() > rules_.most_moves) return false;
    const auto targets = places_for(source);
    if (!targets) return false;
    const WhollyFree before = wholly_free(bookings_);
    bool all = true;
    for (std::size_t i = 0; all && i < targets->size(); ++i)
        all = moves_.make(source.pods[i]->uid, (*targets)[i]).empty();
    if (!all || !is_better(before, source)) {
        moves_.take_back_to(begin);
        return false;
    }
    look_at_place(source.node);
    for (const Target& target : *targets) {
        look_at_place(target.node);
        for (const auto& [resource, gpus] : target.units) {
            for (const auto& gpu : gpus) pinned_.insert({target.node, gpu.first});
        }
    }
    return true;
}

DefragPlan Planner::plan() {
    plan_.before = wholly_free(bookings_);
    look_at_pods();
    for (const auto& [name, node] : bookings_.nodes()) look_at_place(name);
    for (const ToClear& source : gpus_to_clear()) {
        // Pods of its that were moved to it, or away with another GPU.
        if (!pinned_.contains({source.node, source.gpu})) clear(source);
    }
    for (const ToClear& source : nodes_to_clear()) {
        const auto& gpus = bookings_.nodes().at(source.node).gpus;
        const bool can_be = std::none_of(gpus.begin(), gpus.end(), [&](const ServedGpu& gpu) {
            return pinned_.contains({source.node, gpu.uuid});
        });
        if (can_be) clear(source);
    }
    plan_.after = wholly_free(bookings_);
    plan_.moves = moves_.made();
    return std::move(plan_);
}

}  // namespace

DefragPlan plan_defrag(Bookings& bookings, const MoveRules& rules) {
    return Planner(bookings, rules).plan();
}

}  // namespace aliquot::scheduling
