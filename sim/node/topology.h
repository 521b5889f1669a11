// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/node/model.h"
#include "sim/node/state.h"

/// How the GPUs of a simulated node are wired: PCIe, NUMA and NVLink. Pure.
namespace aliquot::sim {

/// Where a GPU sits.
struct Place {
    unsigned domain = 0;
    unsigned bus = 0;
    int numa_node = -1;
};

/// Places for `count` GPUs of one request. Every request (`group`) has a PCI domain of its own, so
/// that the driver's order by PCI address is the order in which GPUs were asked for. Buses of the
/// eight-GPU SXM machines are those of the DGX machines.
std::vector<Place> places_of(const Model& model, unsigned group, unsigned count);

/// The far end of one NVLink.
struct Link {
    enum class Kind : std::uint8_t { kInactive, kGpu, kSwitch };
    Kind kind = Kind::kInactive;
    unsigned remote = 0;  // kGpu: index within the group; kSwitch: number of the switch
};

/// Link number `link` of GPU `index` among `count` of this model in one machine.
Link link_of(const Model& model, unsigned index, unsigned count, unsigned link);

/// Number of direct links between two different GPUs of a node; GPUs that reach one another through
/// switches have all their links in common.
unsigned links_between(const State& state, unsigned a, unsigned b);

/// How far apart two GPUs are on PCIe, as NVML numbers it: 0 the same, 10 one switch, 20 several
/// switches, 30 host bridge, 40 NUMA node, 50 across nodes.
unsigned distance_between(const State& state, unsigned a, unsigned b);

/// "00000000:3b:00.0" with `domain_digits` 8, "0000:3b:00.0" with 4. Lower case as sysfs has it.
std::string bus_id(unsigned domain, unsigned bus, int domain_digits);

/// PCI bus of an NVSwitch, and its device id.
unsigned switch_bus(unsigned number);
std::uint16_t switch_device(const Model& model);

}  // namespace aliquot::sim
