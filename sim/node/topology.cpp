// SPDX-License-Identifier: Apache-2.0
#include "sim/node/topology.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace aliquot::sim {
namespace {

constexpr unsigned kCubeGpus = 8;
constexpr unsigned kLargestMesh = 4;          // of a model that can also have switches
constexpr unsigned kMostLinksOfMeshPair = 2;  // V100 machines never use more
constexpr unsigned kSwitchesOfAmpere = 6;
constexpr unsigned kSwitchesOfHopper = 4;

/// Links between the eight V100 of a DGX-1: two faces, and a double link to the opposite GPU.
constexpr std::array<std::array<unsigned, kCubeGpus>, kCubeGpus> kCube = {{
    {0, 1, 1, 2, 2, 0, 0, 0},
    {1, 0, 2, 1, 0, 2, 0, 0},
    {1, 2, 0, 2, 0, 0, 1, 0},
    {2, 1, 2, 0, 0, 0, 0, 1},
    {2, 0, 0, 0, 0, 1, 1, 2},
    {0, 2, 0, 0, 1, 0, 2, 1},
    {0, 0, 1, 0, 1, 2, 0, 2},
    {0, 0, 0, 1, 2, 1, 2, 0},
}};

constexpr std::array<unsigned, 8> kVoltaBuses = {0x06, 0x07, 0x0a, 0x0b, 0x85, 0x86, 0x89, 0x8a};
constexpr std::array<unsigned, 8> kAmpereBuses = {0x07, 0x0f, 0x47, 0x4e, 0x87, 0x90, 0xb7, 0xbd};
constexpr std::array<unsigned, 8> kHopperBuses = {0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf};
// First bus of each pair of GPUs in a PCIe server; the other GPU of the pair is on the next bus.
constexpr std::array<unsigned, 8> kPairBuses = {0x17, 0x31, 0x4b, 0x65, 0x98, 0xb1, 0xca, 0xe3};

const std::array<unsigned, 8>* sxm_buses(const Model& model) {
    if (model.fabric == Fabric::kMesh) return &kVoltaBuses;
    if (model.fabric != Fabric::kSwitch) return nullptr;
    return model.architecture <= 7 ? &kAmpereBuses : &kHopperBuses;
}

unsigned bus_of(const Model& model, unsigned index, unsigned count) {
    const auto* const sxm = sxm_buses(model);
    if (sxm != nullptr && count <= sxm->size()) return (*sxm)[index];
    return kPairBuses[index / 2] + index % 2;
}

int numa_node_of(const Model& model, unsigned index, unsigned count) {
    if (count <= 2 || (count <= 4 && sxm_buses(model) == nullptr)) return model.geforce() ? -1 : 0;
    return index < (count + 1) / 2 ? 0 : 1;
}

bool uses_switches(const Model& model, unsigned count) {
    if (model.fabric == Fabric::kMesh) return count > kCubeGpus;
    return model.fabric == Fabric::kSwitch && count > kLargestMesh;
}

/// Direct links between two different GPUs of one machine without switches.
unsigned mesh_links(const Model& model, unsigned a, unsigned b, unsigned count) {
    if (count < 2) return 0;
    if (model.fabric == Fabric::kSwitch) return model.links / (count - 1);
    if (model.fabric != Fabric::kMesh) return 0;
    if (count > kLargestMesh) return kCube[a][b];
    return std::min(model.links / (count - 1), kMostLinksOfMeshPair);
}

}  // namespace

std::vector<Place> places_of(const Model& model, unsigned group, unsigned count) {
    std::vector<Place> places;
    for (unsigned i = 0; i < count; ++i) {
        places.push_back({.domain = group,
                          .bus = bus_of(model, i, count),
                          .numa_node = numa_node_of(model, i, count)});
    }
    return places;
}

Link link_of(const Model& model, unsigned index, unsigned count, unsigned link) {
    if (link >= model.links || index >= count) return {};
    if (uses_switches(model, count)) {
        const unsigned switches = model.architecture <= 7 ? kSwitchesOfAmpere : kSwitchesOfHopper;
        return {.kind = Link::Kind::kSwitch, .remote = link % switches};
    }
    for (unsigned peer = 0; peer < count; ++peer) {
        if (peer == index) continue;
        const unsigned shared = mesh_links(model, index, peer, count);
        if (link < shared) return {.kind = Link::Kind::kGpu, .remote = peer};
        link -= shared;
    }
    return {};
}

unsigned links_between(const State& state, unsigned a, unsigned b) {
    const GpuState& first = state.gpus[a];
    const GpuState& second = state.gpus[b];
    const Model* const model = find_model(first.model.view());
    if (a == b || model == nullptr || first.group != second.group) return 0;
    if (uses_switches(*model, first.group_size)) return model->links;
    unsigned shared = 0;
    for (unsigned link = 0; link < model->links; ++link) {
        const Link end = link_of(*model, first.index_in_group, first.group_size, link);
        if (end.kind == Link::Kind::kGpu && end.remote == second.index_in_group) ++shared;
    }
    return shared;
}

unsigned distance_between(const State& state, unsigned a, unsigned b) {
    if (a == b) return 0;
    const GpuState& first = state.gpus[a];
    const GpuState& second = state.gpus[b];
    if (first.group == second.group && first.index_in_group / 2 == second.index_in_group / 2 &&
        first.numa_node == second.numa_node) {
        const Model* const model = find_model(first.model.view());
        if (model != nullptr && model->geforce())
            return 30;  // a desktop: slots of one root complex
        return model != nullptr && sxm_buses(*model) != nullptr ? 20 : 10;
    }
    if (first.numa_node < 0 && second.numa_node < 0) return 30;
    return first.numa_node == second.numa_node ? 40 : 50;
}

std::string bus_id(unsigned domain, unsigned bus, int domain_digits) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%0*x:%02x:00.0", domain_digits, domain, bus & 0xffU);
    return text.data();
}

unsigned switch_bus(unsigned number) { return 0xf1 + number; }

std::uint16_t switch_device(const Model& model) {
    if (model.architecture <= 5) return 0x1ac2;
    return model.architecture <= 7 ? 0x1af1 : 0x22a3;
}

}  // namespace aliquot::sim
