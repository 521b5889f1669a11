// SPDX-License-Identifier: Apache-2.0
#include "scheduling/room.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace aliquot::scheduling {
namespace {

using Slots = std::vector<Room::Slot>;

/// The slot that one more of `count` units comes from; nullptr: none.
Room::Slot* best_slot(Slots& slots, const std::string& resource, unsigned count) {
    Room::Slot* best = nullptr;
    const auto rank = [](const Room::Slot& slot) { return std::tuple(slot.taken, slot.free); };
    for (Room::Slot& slot : slots) {
        if (slot.resource != resource || slot.free < count) continue;
        if (best == nullptr || rank(slot) < rank(*best)) best = &slot;
    }
    return best;
}

}  // namespace

Room Room::now(const ServedNode& node, const Pools& pools) {
    Room room(node);
    room.cpu_milli_ = node.cpu_milli;
    room.memory_mib_ = node.memory_mib;
    for (const std::size_t index : pools.of_node(node.name)) {
        const Pool& pool = pools.all()[index];
        const placement::NodeState free = pools.engine().state(pool.id);
        room.cpu_milli_ = std::min(room.cpu_milli_, free.cpu_milli);
        room.memory_mib_ = std::min(room.memory_mib_, free.memory_mib);
        for (unsigned i = 0; i < pool.gpus.size(); ++i) {
            room.slots_.push_back(
                {pool.resource, pool.gpus[i], pool.units, pools.free_units(pool, i), 0});
        }
    }
    return room;
}

Room Room::when_empty(const ServedNode& node) {
    Room room(node);
    room.cpu_milli_ = node.cpu_milli;
    room.memory_mib_ = node.memory_mib;
    for (const ServedGpu& gpu : node.gpus) {
        for (const auto& [resource, units] : gpu.units)
            room.slots_.push_back({resource, gpu.uuid, units, units, 0});
    }
    return room;
}

std::optional<DeviceUnits> Room::take_devices(const GpuPod& pod) {
    Slots slots = slots_;
    DeviceUnits units;
    for (const DeviceRequest& one : pod.devices) {
        for (Slot& slot : slots) slot.taken = 0;
        const bool together = node_->on_one_gpu.contains(one.resource);
        const unsigned step = together ? one.count : 1;
        for (unsigned got = 0; got < one.count; got += step) {
            Slot* const slot = best_slot(slots, one.resource, step);
            if (slot == nullptr) return std::nullopt;
            slot->free -= step;
            slot->taken += step;
            units[one.resource][std::string(slot->gpu)] += step;
        }
    }
    slots_ = std::move(slots);
    return units;
}

std::optional<DeviceUnits> Room::take(const GpuPod& pod) {
    if (pod.cpu_milli > cpu_milli_ || pod.memory_mib > memory_mib_) return std::nullopt;
    auto units = take_devices(pod);
    if (!units) return std::nullopt;
    cpu_milli_ -= pod.cpu_milli;
    memory_mib_ -= pod.memory_mib;
    return units;
}

bool Room::take_these(const GpuPod& pod, const DeviceUnits& units) {
    if (pod.cpu_milli > cpu_milli_ || pod.memory_mib > memory_mib_) return false;
    std::map<std::string, unsigned> left;
    for (const DeviceRequest& one : pod.devices) left[one.resource] += one.count;
    Slots slots = slots_;
    for (const auto& [resource, gpus] : units) {
        for (const auto& [gpu, count] : gpus) {
            const auto slot = std::find_if(slots.begin(), slots.end(), [&](const Slot& one) {
                return one.resource == resource && one.gpu == gpu;
            });
            if (slot == slots.end() || slot->free < count || left[resource] < count) return false;
            slot->free -= count;
            left[resource] -= count;
        }
    }
    if (std::any_of(left.begin(), left.end(), [](const auto& one) { return one.second > 0; }))
        return false;
    slots_ = std::move(slots);
    cpu_milli_ -= pod.cpu_milli;
    memory_mib_ -= pod.memory_mib;
    return true;
}

void Room::close(std::string_view gpu) {
    for (Slot& slot : slots_) {
        if (slot.gpu == gpu) slot.free = 0;
    }
}

unsigned Room::count(const GpuPod& pod, unsigned most) const {
    Room rest = *this;
    unsigned count = 0;
    while (count < most && rest.take(pod)) ++count;
    return count;
}

void Room::give_back(std::int32_t cpu_milli, std::int32_t memory_mib) {
    cpu_milli_ = std::min(node_->cpu_milli, cpu_milli_ + cpu_milli);
    memory_mib_ = std::min(node_->memory_mib, memory_mib_ + memory_mib);
}

void Room::give(const DeviceUnits& units) {
    for (Slot& slot : slots_) {
        const auto resource = units.find(std::string(slot.resource));
        if (resource == units.end()) continue;
        const auto gpu = resource->second.find(std::string(slot.gpu));
        if (gpu != resource->second.end())
            slot.free = std::min(slot.units, slot.free + gpu->second);
    }
}

}  // namespace aliquot::scheduling
