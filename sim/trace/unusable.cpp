// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/unusable.h"

#include <algorithm>
#include <bit>

namespace aliquot::sim::trace {
namespace {

using placement::DeviceState;
using placement::kWholeGpu;
using placement::MigGeometry;
using placement::MigProfile;
using placement::NodeSpec;
using placement::NodeState;
using placement::Request;

bool has_room(const MigProfile& profile, std::uint8_t taken) {
    for (unsigned start = 0; start + profile.width <= 8; ++start) {
        const unsigned slices = ((1U << profile.width) - 1U) << start;
        if (((profile.starts >> start) & 1U) != 0 && (taken & slices) == 0) return true;
    }
    return false;
}

const MigProfile* profile_of(const NodeSpec& spec, const Request& type,
                             std::span<const MigGeometry> geometries) {
    for (const MigGeometry& geometry : geometries) {
        if (geometry.model != spec.model) continue;
        for (const MigProfile& profile : geometry.profiles) {
            if (profile.name == type.mig_profile) return &profile;
        }
    }
    return nullptr;
}

bool fits(const NodeSpec& spec, const DeviceState& device, const Request& type) {
    if (device.mig) return false;
    if (type.milli == kWholeGpu) {
        return device.milli == kWholeGpu && device.mib == spec.device_mib;
    }
    return device.milli >= type.milli && (type.mib == 0 || device.mib >= type.mib);
}

bool same_types(std::span<const placement::TaskType> a, std::span<const placement::TaskType> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& one, const auto& other) {
                          return one.popularity == other.popularity && one.request == other.request;
                      });
}

}  // namespace

double free_milli(const DeviceState& device) {
    return device.mig ? kWholeGpu * (8 - std::popcount(device.mig_mask)) / 8 : device.milli;
}

double unusable_milli(const NodeSpec& spec, const NodeState& state, const Request& type,
                      std::span<const MigGeometry> geometries) {
    double total = 0;
    for (const DeviceState& device : state.devices) total += free_milli(device);
    if (type.gpus == 0 || state.cpu_milli < type.cpu_milli) return total;
    if (!type.models.empty() &&
        std::find(type.models.begin(), type.models.end(), spec.model) == type.models.end()) {
        return total;
    }
    const MigProfile* const profile =
        type.mig_profile.empty() ? nullptr : profile_of(spec, type, geometries);
    unsigned fitting = 0;
    double small = 0;
    for (const DeviceState& device : state.devices) {
        const bool room = type.mig_profile.empty() ? fits(spec, device, type)
                                                   : device.mig && profile != nullptr &&
                                                         has_room(*profile, device.mig_mask);
        if (room) {
            ++fitting;
        } else {
            small += free_milli(device);
        }
    }
    return fitting < type.gpus ? total : small;
}

FragmentationMeter::FragmentationMeter(const placement::Engine& engine,
                                       std::span<const MigGeometry> geometries)
    : engine_(engine), geometries_(geometries) {}

void FragmentationMeter::touched(placement::NodeId node) {
    if (all_stale_ || is_stale_[node]) return;
    is_stale_[node] = true;
    stale_.push_back(node);
}

void FragmentationMeter::all_touched() { all_stale_ = true; }

double FragmentationMeter::of_node(placement::NodeId node) const {
    const NodeSpec& spec = engine_.node(node);
    if (spec.devices == 0) return 0;
    const NodeState state = engine_.state(node);
    double sum = 0;
    for (const placement::TaskType& type : types_) {
        sum += type.popularity * unusable_milli(spec, state, type.request, geometries_);
    }
    return sum;
}

double FragmentationMeter::milli() {
    const auto now = engine_.workload();
    if (!same_types(types_, now)) {
        types_.assign(now.begin(), now.end());
        all_stale_ = true;
    }
    if (all_stale_) {
        of_nodes_.assign(engine_.node_count(), 0);
        is_stale_.assign(engine_.node_count(), false);
        stale_.clear();
        for (placement::NodeId node = 0; node < of_nodes_.size(); ++node) {
            of_nodes_[node] = of_node(node);
        }
        all_stale_ = false;
    }
    for (const placement::NodeId node : stale_) {
        of_nodes_[node] = of_node(node);
        is_stale_[node] = false;
    }
    stale_.clear();
    double sum = 0;
    for (const double one : of_nodes_) sum += one;
    return sum;
}

}  // namespace aliquot::sim::trace
