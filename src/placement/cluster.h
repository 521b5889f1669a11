// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Which GPU a workload gets: a pure engine without Kubernetes, clocks or I/O. One writer thread;
/// the same calls in the same order give the same decisions on every machine.
namespace aliquot::placement {

inline constexpr unsigned kMostDevices = 16;     // of one node
inline constexpr unsigned kMostGang = 4'096;     // placements of one gang
inline constexpr std::int32_t kWholeGpu = 1000;  // milli: compute of one GPU
inline constexpr std::uint32_t kNoNode = 0xFFFF'FFFF;

using NodeId = std::uint32_t;  // index in the order of add_node()

/// One profile of a MIG-capable GPU model, as the driver lists it.
struct MigProfile {
    std::string name;         // "1g.5gb"
    std::uint8_t width = 0;   // memory slices it takes, 1..8
    std::uint8_t starts = 0;  // bit i: may start at memory slice i
    std::int32_t milli = 0;   // its part of the GPU's compute, 1..1000
};

/// What MIG makes of one GPU model. Source: the placements the driver reports per profile.
struct MigGeometry {
    std::string model;  // GPU model name as in NodeSpec
    std::vector<MigProfile> profiles;
};

struct NodeSpec {
    std::string name;
    std::int32_t cpu_milli = 0;     // allocatable; 0..2'000'000'000
    std::int32_t memory_mib = 0;    // allocatable
    std::uint8_t devices = 0;       // GPUs, 0..kMostDevices
    std::string model;              // of all its GPUs; empty without GPUs
    std::int32_t device_mib = 0;    // memory of one GPU; 0: unknown, then requests by GPU memory
                                    // do not fit
    std::uint16_t mig_devices = 0;  // bit i: device i is in MIG mode (model needs a MigGeometry)
    std::array<std::uint8_t, kMostDevices> link_group{};  // NVLink or NUMA group of each device
    std::vector<std::pair<std::string, std::string>> labels;
    std::vector<std::pair<std::string, std::string>> taints;  // key, value; effect NoSchedule
    std::int32_t milli_price_per_hour = 0;  // whole node, 1/1000 of a currency unit; 0: unknown
    std::int32_t idle_watts = 0;            // drawn only once a GPU of it is used; 0: unknown
    /// Order among equals, lower first; by default the order of add_node(). Unique per engine.
    std::uint32_t rank = kNoNode;
};

/// Free parts of one GPU.
struct DeviceState {
    std::int32_t milli = 0;     // free compute, 0..1000; unused in MIG mode
    std::int32_t mib = 0;       // free memory; unused in MIG mode
    std::uint8_t mig_mask = 0;  // bit i: memory slice i is taken; only in MIG mode
    bool mig = false;
    friend bool operator==(const DeviceState&, const DeviceState&) = default;
};

/// What is free on one node.
struct NodeState {
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    std::vector<DeviceState> devices;
    friend bool operator==(const NodeState&, const NodeState&) = default;
};

}  // namespace aliquot::placement
