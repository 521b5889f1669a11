// SPDX-License-Identifier: Apache-2.0
// Bookings of pods that are about to be bound, and what nodes are for a pod.
#include <algorithm>
#include <utility>

#include "scheduling/bookings.h"
#include "scheduling/fit.h"

namespace aliquot::scheduling {

/// A pod that asks what this one asks of our agent of the node, and nothing else.
GpuPod Bookings::asked_of(const GpuPod& pod, const std::string& node) const {
    GpuPod asked;
    for (const DeviceRequest& one : pod.devices) {
        const auto& pools = pools_.of_node(node);
        const bool is_offered = std::ranges::any_of(pools, [&](const std::size_t index) {
            return pools_.all()[index].resource == one.resource;
        });
        if (is_offered) asked.devices.push_back(one);
    }
    return asked;
}

bool Bookings::are_free(const Target& target) const {
    for (const auto& [resource, gpus] : target.units) {
        for (const auto& [gpu, units] : gpus) {
            const auto place = pools_.find(target.node, resource, gpu);
            if (!place) return false;  // ill, or gone
            const Pool& pool = pools_.all()[place->first];
            if (pools_.free_units(pool, place->second) < units) return false;
        }
    }
    return true;
}

/// What was planned for it there as long as that is free, else what is. The entry has no bookings.
std::optional<DeviceUnits> Bookings::seat_for(const Entry& entry, const GpuPod& asked,
                                              const ServedNode& node) const {
    for (const Target& target : entry.targets) {
        if (target.node == node.name && !target.units.empty() && are_free(target))
            return target.units;
    }
    return fit_on(asked, node, pools_);
}

/// What is only planned there for others.
DeviceUnits Bookings::planned_on(const std::string& node, const Entry& but) const {
    DeviceUnits sum;
    for (const auto& [uid, entry] : entries_) {
        if (&entry == &but || entry.is_bound() || entry.bookings.empty()) continue;
        for (const Target& target : entry.targets) {
            if (target.node != node) continue;
            for (const auto& [resource, gpus] : target.units) {
                for (const auto& [gpu, units] : gpus) sum[resource][gpu] += units;
            }
        }
    }
    return sum;
}

Seat Bookings::bind(const GpuPod& pod, const std::string& name) {
    const auto node = nodes_.find(name);
    if (node == nodes_.end() || pod.is_over) return {};
    const GpuPod asked = asked_of(pod, name);
    if (asked.devices.empty()) return {};
    const auto [found, is_new] = entries_.try_emplace(pod.uid);
    Entry& entry = found->second;
    if (!is_new && entry.pod.node == name)
        return {.kind = Seat::Kind::kGiven, .units = entry.targets.front().units, .why = {}};
    if (!is_new && entry.is_bound() && !entry.is_seated) return {};  // it cannot be bound again
    release(entry);
    auto units = seat_for(entry, asked, node->second);
    // Nobody is pushed off for nothing.
    const bool pushed = !units && fit_on(asked, node->second, pools_, planned_on(name, entry)) &&
                        push_planned_off(entry, name);
    if (pushed) units = fit_on(asked, node->second, pools_);
    if (units) {
        entry.pod = pod;
        entry.pod.neighbours = nullptr;
        entry.pod.node = name;
        entry.is_seated = true;
        entry.targets = {{.node = name, .units = *units}};
        if (!pod.affinity.without.empty()) apart_.insert(pod.uid);
    }
    if (!units && is_new)
        entries_.erase(found);
    else
        book(entry);
    if (units) return {.kind = Seat::Kind::kGiven, .units = entry.targets.front().units, .why = {}};
    if (pushed) seat_again();
    return {.kind = Seat::Kind::kNoRoom, .units = {}, .why = lacks(asked, node->second, pools_)};
}

void Bookings::take_back(const std::string& uid) {
    const auto found = entries_.find(uid);
    if (found != entries_.end() && found->second.is_seated) remove_pod(uid);
}

NodeVerdict Bookings::judge(const GpuPod& pod, const std::string& name) const {
    using Kind = NodeVerdict::Kind;
    const auto node = nodes_.find(name);
    if (node == nodes_.end()) return {};
    const GpuPod asked = asked_of(pod, name);
    if (asked.devices.empty()) return {};
    const ServedNode::Keeping& kept = node->second.kept_for;
    if (!kept.holder.empty() && kept.holder != pod.holder() && pod.priority <= kept.priority)
        return {Kind::kNoRoom, "is kept for " + kept.pod + ", which has waited long"};
    DeviceUnits own;
    const auto found = entries_.find(pod.uid);
    if (found != entries_.end()) {
        for (const Target& target : found->second.targets) {
            if (target.node == name) own = target.units;
        }
    }
    if (fit_on(asked, node->second, pools_, own)) return {Kind::kFits, {}};
    const Kind kind = fits_when_empty(asked, node->second) ? Kind::kNoRoom : Kind::kNever;
    return {kind, lacks(asked, node->second, pools_)};
}

}  // namespace aliquot::scheduling
