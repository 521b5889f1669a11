// SPDX-License-Identifier: Apache-2.0
#include "scheduling/fit.h"

#include <algorithm>

#include "node/names.h"

namespace aliquot::scheduling {
namespace {

using Slots = std::vector<Room::Slot>;

std::string resource_and(unsigned count, const std::string& resource) {
    return std::to_string(count) + " " + resource;
}

/// What the node lacks of devices: "has 3 of 8 nvidia.com/gpu free, 4 are asked".
std::string lacks(const GpuPod& pod, const Slots& slots) {
    for (const DeviceRequest& one : pod.devices) {
        unsigned free = 0;
        unsigned most = 0;
        unsigned units = 0;
        for (const Room::Slot& slot : slots) {
            if (slot.resource != one.resource) continue;
            free += slot.free;
            units += slot.units;
            most = std::max(most, slot.free);
        }
        if (units == 0) return "does not offer " + one.resource;
        if (free < one.count) {
            return "has " + std::to_string(free) + " of " + resource_and(units, one.resource) +
                   " free, " + std::to_string(one.count) +
                   (one.count == 1 ? " is asked" : " are asked");
        }
        if (most < one.count) {
            return "has " + resource_and(free, one.resource) + " free, but at most " +
                   std::to_string(most) + " of one GPU, and " + std::to_string(one.count) +
                   " are asked";
        }
    }
    return "has too little free for all containers together";
}

unsigned asked_that_is_free(const GpuPod& pod, const Slots& slots) {
    unsigned sum = 0;
    for (const DeviceRequest& one : pod.devices) {
        unsigned free = 0;
        for (const Room::Slot& slot : slots) free += slot.resource == one.resource ? slot.free : 0;
        sum += std::min(free, one.count);
    }
    return sum;
}

void add_count(std::string& text, unsigned count, const char* what) {
    if (count == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
}

}  // namespace

std::string keeps_off(const GpuPod& pod, const ServedNode& node) {
    if (!node.is_open) return "is cordoned or not ready";
    const ServedNode::Keeping& kept = node.kept_for;
    if (!kept.holder.empty() && kept.holder != pod.holder() && pod.priority <= kept.priority)
        return "is kept for " + kept.pod + ", which has waited long";
    if (!pod.where.matches(node.name, node.labels))
        return "does not match the pod's node selector or affinity";
    for (const k8s::Taint& taint : node.taints) {
        if (taint.keeps_away() && !k8s::tolerates(pod.tolerations, taint))
            return "has the taint " + k8s::to_text(taint) + ", which the pod does not tolerate";
    }
    for (const VolumeRule& volume : pod.volumes) {
        const bool is_here =
            std::any_of(volume.nodes.begin(), volume.nodes.end(),
                        [&](const auto& term) { return term.matches(node.name, node.labels); });
        if (!volume.is_anywhere && !is_here) return "does not do for the pod: " + volume.why;
    }
    return pod.neighbours == nullptr ? "" : pod.neighbours->keeps_off(node);
}

bool ends_by_itself(const k8s::Taint& taint) {
    return taint.key.starts_with("node.kubernetes.io/") ||
           taint.key.starts_with("node.cloudprovider.kubernetes.io/") ||
           taint.key == node::kUnhealthyTaint;
}

std::optional<DeviceUnits> fit_on(const GpuPod& pod, const ServedNode& node, const Pools& pools) {
    return Room::now(node, pools).take_devices(pod);
}

std::optional<DeviceUnits> fit_on(const GpuPod& pod, const ServedNode& node, const Pools& pools,
                                  const DeviceUnits& returned) {
    Room room = Room::now(node, pools);
    room.give(returned);
    return room.take_devices(pod);
}

std::optional<Target> fit_wish(const GpuPod& pod, const std::map<std::string, ServedNode>& nodes,
                               const Pools& pools) {
    const auto node = pod.preferred ? nodes.find(pod.preferred->node) : nodes.end();
    if (node == nodes.end() || !keeps_off(pod, node->second).empty()) return std::nullopt;
    if (!Room::now(node->second, pools).take_these(pod, pod.preferred->units)) return std::nullopt;
    return pod.preferred;
}

std::string lacks(const GpuPod& pod, const ServedNode& node, const Pools& pools) {
    return lacks(pod, Room::now(node, pools).slots());
}

bool fits_when_empty(const GpuPod& pod, const ServedNode& node) {
    return Room::when_empty(node).take(pod).has_value();
}

std::string why_nowhere(const GpuPod& pod, const std::map<std::string, ServedNode>& nodes,
                        const Pools& pools) {
    return why_nowhere(pod, nodes, [&](const ServedNode& node) { return Room::now(node, pools); });
}

std::string why_nowhere(const GpuPod& pod, const std::map<std::string, ServedNode>& nodes,
                        const std::function<Room(const ServedNode&)>& room_of) {
    unsigned off = 0;
    unsigned full = 0;
    unsigned cpu = 0;
    std::string nearest;
    unsigned nearest_free = 0;
    std::string first_off;
    std::string kept;
    for (const auto& [name, node] : nodes) {
        if (const std::string why = keeps_off(pod, node); !why.empty()) {
            ++off;
            if (first_off.empty()) first_off = name + " " + why;
            if (!node.kept_for.holder.empty()) kept = "; " + name + " " + why;
            continue;
        }
        Room room = room_of(node);
        if (!room.take_devices(pod)) {
            ++full;
            const unsigned free = asked_that_is_free(pod, room.slots());
            if (nearest.empty() || free > nearest_free)
                nearest = name + " " + lacks(pod, room.slots());
            nearest_free = std::max(nearest_free, free);
            continue;
        }
        ++cpu;
        nearest = name + " has the GPUs free, but not the CPU or memory";
        nearest_free = ~0U;
    }
    std::string text;
    add_count(text, off, "may not take it");
    add_count(text, full, "without free GPUs for it");
    add_count(text, cpu, "without CPU or memory for it");
    if (nearest.empty()) nearest = first_off;
    return "0 of " + std::to_string(nodes.size()) +
           " GPU nodes: " + (text.empty() ? "there is none" : text) +
           (nearest.empty() ? "" : "; nearest: " + nearest) + (nearest == first_off ? "" : kept);
}

}  // namespace aliquot::scheduling
