// SPDX-License-Identifier: Apache-2.0
#include "scheduling/fit.h"

#include <algorithm>
#include <tuple>

namespace aliquot::scheduling {
namespace {

/// One GPU of the node for one resource.
struct Slot {
    std::string resource;
    std::string gpu;
    unsigned units = 1;  // 1: whole
    unsigned free = 0;
    unsigned taken = 0;  // by the container that is looked at
};

std::vector<Slot> free_slots(const ServedNode& node, const Pools& pools) {
    std::vector<Slot> slots;
    for (const std::size_t index : pools.of_node(node.name)) {
        const Pool& pool = pools.all()[index];
        for (unsigned i = 0; i < pool.gpus.size(); ++i) {
            slots.push_back(
                {pool.resource, pool.gpus[i], pool.units, pools.free_units(pool, i), 0});
        }
    }
    return slots;
}

std::vector<Slot> empty_slots(const ServedNode& node) {
    std::vector<Slot> slots;
    for (const ServedGpu& gpu : node.gpus) {
        for (const auto& [resource, units] : gpu.units)
            slots.push_back({resource, gpu.uuid, units, units, 0});
    }
    return slots;
}

/// The slot that one more of `count` units comes from; nullptr: none.
Slot* best_slot(std::vector<Slot>& slots, const std::string& resource, unsigned count) {
    Slot* best = nullptr;
    const auto rank = [](const Slot& slot) { return std::tuple(slot.taken, slot.free); };
    for (Slot& slot : slots) {
        if (slot.resource != resource || slot.free < count) continue;
        if (best == nullptr || rank(slot) < rank(*best)) best = &slot;
    }
    return best;
}

std::optional<DeviceUnits> fit(const GpuPod& pod, const ServedNode& node, std::vector<Slot> slots) {
    DeviceUnits units;
    for (const DeviceRequest& one : pod.devices) {
        for (Slot& slot : slots) slot.taken = 0;
        const bool together = node.on_one_gpu.contains(one.resource);
        const unsigned step = together ? one.count : 1;
        for (unsigned got = 0; got < one.count; got += step) {
            Slot* const slot = best_slot(slots, one.resource, step);
            if (slot == nullptr) return std::nullopt;
            slot->free -= step;
            slot->taken += step;
            units[one.resource][slot->gpu] += step;
        }
    }
    return units;
}

std::string resource_and(unsigned count, const std::string& resource) {
    return std::to_string(count) + " " + resource;
}

/// What the node lacks of devices: "has 3 of 8 nvidia.com/gpu free, 4 are asked".
std::string lacks(const GpuPod& pod, const std::vector<Slot>& slots) {
    for (const DeviceRequest& one : pod.devices) {
        unsigned free = 0;
        unsigned most = 0;
        unsigned units = 0;
        for (const Slot& slot : slots) {
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

unsigned asked_that_is_free(const GpuPod& pod, const std::vector<Slot>& slots) {
    unsigned sum = 0;
    for (const DeviceRequest& one : pod.devices) {
        unsigned free = 0;
        for (const Slot& slot : slots) free += slot.resource == one.resource ? slot.free : 0;
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
    if (!kept.uid.empty() && kept.uid != pod.uid && pod.priority <= kept.priority)
        return "is kept for " + kept.pod + ", which has waited long";
    if (!pod.where.matches(node.name, node.labels))
        return "does not match the pod's node selector or affinity";
    for (const k8s::Taint& taint : node.taints) {
        if (taint.keeps_away() && !k8s::tolerates(pod.tolerations, taint))
            return "has the taint " + k8s::to_text(taint) + ", which the pod does not tolerate";
    }
    return {};
}

std::optional<DeviceUnits> fit_on(const GpuPod& pod, const ServedNode& node, const Pools& pools) {
    return fit(pod, node, free_slots(node, pools));
}

std::optional<DeviceUnits> fit_on(const GpuPod& pod, const ServedNode& node, const Pools& pools,
                                  const DeviceUnits& returned) {
    auto slots = free_slots(node, pools);
    for (Slot& slot : slots) {
        const auto resource = returned.find(slot.resource);
        if (resource == returned.end()) continue;
        const auto gpu = resource->second.find(slot.gpu);
        if (gpu != resource->second.end())
            slot.free = std::min(slot.units, slot.free + gpu->second);
    }
    return fit(pod, node, std::move(slots));
}

std::string lacks(const GpuPod& pod, const ServedNode& node, const Pools& pools) {
    return lacks(pod, free_slots(node, pools));
}

bool fits_when_empty(const GpuPod& pod, const ServedNode& node) {
    return pod.cpu_milli <= node.cpu_milli && pod.memory_mib <= node.memory_mib &&
           fit(pod, node, empty_slots(node)).has_value();
}

std::string why_nowhere(const GpuPod& pod, const std::map<std::string, ServedNode>& nodes,
                        const Pools& pools) {
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
            if (!node.kept_for.uid.empty()) kept = "; " + name + " " + why;
            continue;
        }
        const auto slots = free_slots(node, pools);
        if (!fit(pod, node, slots)) {
            ++full;
            const unsigned free = asked_that_is_free(pod, slots);
            if (nearest.empty() || free > nearest_free) nearest = name + " " + lacks(pod, slots);
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
