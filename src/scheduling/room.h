// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduling/decision.h"
#include "scheduling/gpu_pod.h"
#include "scheduling/pools.h"

namespace aliquot::scheduling {

/// What is left of a node, to be filled pod by pod while nothing is booked. Devices go as the agent would choose
/// them: shares on GPUs that are in use before others; of several for one container each on another GPU, by MPS all
/// on one; whole GPUs from the first. It looks into the node and the pools that it was made from.
class Room {
public:
    /// One GPU of the node for one resource.
    struct Slot {
        std::string_view resource;
        std::string_view gpu;
        unsigned units = 1;  // 1: whole
        unsigned free = 0;
        unsigned taken = 0;  // by the container that is looked at
    };

    static Room now(const ServedNode& node, const Pools& pools);
    /// As if nobody used it.
    static Room when_empty(const ServedNode& node);

    /// Devices for all that the pod asks, and its CPU and memory; empty: they are not free, nothing changes.
    std::optional<DeviceUnits> take(const GpuPod& pod);
    /// The same without CPU and memory.
    std::optional<DeviceUnits> take_devices(const GpuPod& pod);
    /// Just these devices, which are what the pod asks, with its CPU and memory. False: they are not free; nothing
    /// changes.
    bool take_these(const GpuPod& pod, const DeviceUnits& units);
    /// Nothing of this GPU is free any more.
    void close(std::string_view gpu);
    /// How many pods like this one fit, one after the other; at most `most`.
    [[nodiscard]] unsigned count(const GpuPod& pod, unsigned most) const;
    /// Frees these units.
    void give(const DeviceUnits& units);
    void give_back(std::int32_t cpu_milli, std::int32_t memory_mib);

    [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }

private:
    explicit Room(const ServedNode& node) : node_(&node) {}

    const ServedNode* node_;
    std::vector<Slot> slots_;
    std::int32_t cpu_milli_ = 0;
    std::int32_t memory_mib_ = 0;
};

}  // namespace aliquot::scheduling
