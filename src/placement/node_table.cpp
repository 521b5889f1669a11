// SPDX-License-Identifier: Apache-2.0
#include "placement/node_table.h"

#include <algorithm>
#include <bit>

namespace aliquot::placement {
namespace {

Error wrong(const std::string& subject, const std::string& what) {
    return {ErrorCode::kInvalidInput, subject + ": " + what};
}

/// Compute that a MIG device has left, in milli: by the share of free slices.
std::int64_t mig_free(std::uint16_t mask) {
    return kWholeGpu * (8 - std::popcount(static_cast<std::uint8_t>(mask))) / 8;
}

std::int64_t free_of(const Node& node, unsigned device) {
    return node.is_mig(device) ? mig_free(node.milli[device]) : node.milli[device];
}

}  // namespace

unsigned mig_room(const MigProfile& profile, std::uint8_t taken) {
    // Starts of one profile are evenly spaced or overlap only neighbours: lowest first is the most.
    unsigned room = 0;
    std::uint8_t mask = taken;
    for (unsigned start = 0; start < 8; ++start) {
        if (((profile.starts >> start) & 1U) == 0 || (mask & slices_at(profile, start)) != 0)
            continue;
        mask |= slices_at(profile, start);
        ++room;
    }
    return room;
}

Result<Done> NodeTable::add_geometry(MigGeometry geometry) {
    for (const MigProfile& profile : geometry.profiles) {
        if (profile.width == 0 || profile.width > 8 || profile.starts == 0 || profile.milli < 1 ||
            profile.milli > kWholeGpu)
            return wrong("MIG profile " + profile.name + " of " + geometry.model,
                         "expected 1 to 8 slices, a start and 1 to 1000 milli");
        for (unsigned start = 0; start < 8; ++start)
            if (((profile.starts >> start) & 1U) != 0 && start + profile.width > 8)
                return wrong("MIG profile " + profile.name + " of " + geometry.model,
                             "start " + std::to_string(start) + " goes past slice 7");
    }
    const std::string model = geometry.model;
    if (!geometries_.emplace(model, std::move(geometry)).second)
        return wrong("MIG geometry of " + model, "given twice");
    return Done{};
}

Result<NodeId> NodeTable::add_node(NodeSpec spec) {
    if (spec.devices > kMostDevices)
        return wrong("node " + spec.name, std::to_string(spec.devices) +
                                              " GPUs, expected at most " +
                                              std::to_string(kMostDevices));
    if (spec.cpu_milli < 0 || spec.memory_mib < 0 || spec.device_mib < 0)
        return wrong("node " + spec.name, "negative CPU or memory");
    if (spec.devices > 0 && spec.model.empty())
        return wrong("node " + spec.name, "has GPUs but no model");
    if (spec.mig_devices >> spec.devices != 0)
        return wrong("node " + spec.name, "MIG mode on a GPU that it does not have");
    if (spec.mig_devices != 0 && !geometries_.contains(spec.model))
        return wrong("node " + spec.name, "MIG mode, but no geometry of model " + spec.model);
    if (names_.contains(spec.name)) return wrong("node " + spec.name, "given twice");
    Node node;
    node.cpu = spec.cpu_milli;
    node.memory = spec.memory_mib;
    node.devices = spec.devices;
    node.device_mib = spec.device_mib;
    node.mig_devices = spec.mig_devices;
    if (spec.devices > 0) {
        const auto known = model_ids_.find(spec.model);
        if (known == model_ids_.end()) {
            if (models_.size() == kMostModels)
                return wrong("node " + spec.name,
                             "more than " + std::to_string(kMostModels) + " GPU models");
            node.model = static_cast<std::uint8_t>(models_.size());
            model_ids_.emplace(spec.model, node.model);
            models_.push_back(spec.model);
        } else {
            node.model = known->second;
        }
    }
    for (unsigned i = 0; i < node.devices; ++i) {
        node.milli[i] = node.is_mig(i) ? 0 : kWholeGpu;
        node.mib[i] = node.is_mig(i) ? 0 : node.device_mib;
        node.device_sum += device_hash(node, i);
    }
    sum_up_free(node);
    const auto id = static_cast<NodeId>(nodes_.size());
    capacity_ += static_cast<std::int64_t>(spec.devices) * kWholeGpu;
    free_ += static_cast<std::int64_t>(spec.devices) * kWholeGpu;
    if (spec.devices > 0) free_cpu_ += spec.cpu_milli;
    names_.emplace(spec.name, id);
    nodes_.push_back(node);
    specs_.push_back(std::move(spec));
    return id;
}

std::uint8_t NodeTable::model_of(const std::string& name) const {
    const auto found = model_ids_.find(name);
    return found == model_ids_.end() ? kNoModel : found->second;
}

Shape NodeTable::shape_of(const Request& request) const {
    Shape shape{.cpu = request.cpu_milli, .memory = request.memory_mib, .gpus = request.gpus};
    shape.mig = !request.mig_profile.empty();
    shape.milli = static_cast<std::uint16_t>(request.milli);
    shape.mib = request.mib;
    shape.mig_profile = request.mig_profile;
    if (request.gpus == 0 || request.models.empty()) shape.models = ~0ULL;
    for (const std::string& name : request.models) {
        const std::uint8_t model = model_of(name);
        if (model != kNoModel) shape.models |= 1ULL << model;
    }
    if (!shape.mig) return shape;
    for (const std::string& model : models_) {
        const MigProfile* found = nullptr;
        const auto geometry = geometries_.find(model);
        if (geometry != geometries_.end())
            for (const MigProfile& profile : geometry->second.profiles)
                if (profile.name == request.mig_profile) found = &profile;
        shape.profiles.push_back(found);
    }
    return shape;
}

bool NodeTable::mig_fits(const Node& node, unsigned device, const Shape& shape) {
    if (!node.is_mig(device)) return false;
    const MigProfile* profile = profile_on(node, shape);
    return profile != nullptr &&
           mig_room(*profile, static_cast<std::uint8_t>(node.milli[device])) > 0;
}

unsigned NodeTable::fitting_devices(const Node& node, const Shape& shape) {
    unsigned count = 0;
    for (unsigned i = 0; i < node.devices; ++i) count += device_fits(node, i, shape) ? 1U : 0U;
    return count;
}

bool NodeTable::fits_at(const Node& node, const Shape& shape, const Spot& spot) {
    if (node.cpu < shape.cpu || node.memory < shape.memory || spot.count != shape.gpus)
        return false;
    if (shape.gpus == 0) return true;
    if (node.devices < shape.gpus || ((shape.models >> node.model) & 1U) == 0) return false;
    for (unsigned i = 0; i < spot.count; ++i) {
        const unsigned device = spot.device[i];
        if (device >= node.devices || (i > 0 && device <= spot.device[i - 1]) ||
            !device_fits(node, device, shape))
            return false;
        if (!shape.mig) continue;
        const MigProfile* profile = profile_on(node, shape);
        if (spot.mig_start >= 8 || ((profile->starts >> spot.mig_start) & 1U) == 0 ||
            (node.milli[device] & slices_at(*profile, spot.mig_start)) != 0)
            return false;
    }
    return true;
}

std::uint8_t NodeTable::mig_start(const Node& node, unsigned device, const Shape& shape) const {
    const MigProfile& wanted = *profile_on(node, shape);
    const auto taken = static_cast<std::uint8_t>(node.milli[device]);
    const std::vector<MigProfile>& profiles = geometries_.at(models_[node.model]).profiles;
    unsigned best = 8;
    unsigned best_room = 0;
    for (unsigned start = 0; start < 8; ++start) {
        if (((wanted.starts >> start) & 1U) == 0 || (taken & slices_at(wanted, start)) != 0)
            continue;
        unsigned room = 0;  // slices that any profile could still use, large ones counting more
        for (const MigProfile& profile : profiles)
            room += mig_room(profile, static_cast<std::uint8_t>(taken | slices_at(wanted, start))) *
                    profile.width;
        if (best < 8 && room <= best_room) continue;
        best = start;
        best_room = room;
    }
    return static_cast<std::uint8_t>(best);
}

std::int64_t NodeTable::change(Node& node, const Shape& shape, const Spot& spot, int sign) {
    std::int64_t grown = 0;
    node.cpu -= sign * shape.cpu;
    node.memory -= sign * shape.memory;
    for (unsigned i = 0; i < spot.count; ++i) {
        const unsigned device = spot.device[i];
        node.device_sum -= device_hash(node, device);
        grown -= free_of(node, device);
        if (shape.mig) {
            const MigProfile& profile = *profile_on(node, shape);
            node.milli[device] ^= slices_at(profile, spot.mig_start);
        } else if (shape.milli == kWholeGpu) {
            node.milli[device] = static_cast<std::uint16_t>(sign > 0 ? 0 : kWholeGpu);
            node.mib[device] = sign > 0 ? 0 : node.device_mib;
        } else {
            node.milli[device] =
                static_cast<std::uint16_t>(node.milli[device] - sign * shape.milli);
            node.mib[device] -= sign * shape.mib;
        }
        if (!node.is_mig(device)) {
            const auto bit = static_cast<std::uint16_t>(1U << device);
            node.memory_used = static_cast<std::uint16_t>(node.mib[device] == node.device_mib
                                                              ? node.memory_used & ~bit
                                                              : node.memory_used | bit);
        }
        node.device_sum += device_hash(node, device);  // reads memory_used
        grown += free_of(node, device);
    }
    if (spot.count > 0) sum_up_free(node);
    return grown;
}

void NodeTable::keep_common(Node& node, const Node& other) {
    node.cpu = std::min(node.cpu, other.cpu);
    node.memory = std::min(node.memory, other.memory);
    node.memory_used |= other.memory_used;
    for (unsigned i = 0; i < node.devices; ++i) {
        node.milli[i] = node.is_mig(i) ? static_cast<std::uint16_t>(node.milli[i] | other.milli[i])
                                       : std::min(node.milli[i], other.milli[i]);
        node.mib[i] = std::min(node.mib[i], other.mib[i]);
    }
    sum_up_free(node);
}

void NodeTable::sum_up_free(Node& node) {
    unsigned most = 0;
    unsigned whole = 0;
    for (unsigned i = 0; i < node.devices; ++i) {
        if (!node.is_mig(i)) most = std::max<unsigned>(most, node.milli[i]);
        whole += node.is_whole(i) ? 1U : 0U;
    }
    node.most_free = most & 0x7FFU;
    node.whole_devices = whole & 0x1FU;
}

void NodeTable::take(NodeId id, const Shape& shape, const Spot& spot) {
    Node& node = nodes_[id];
    free_ += change(node, shape, spot, 1);
    if (node.devices > 0) free_cpu_ -= shape.cpu;
    ++node.live;
}

void NodeTable::give(NodeId id, const Shape& shape, const Spot& spot) {
    Node& node = nodes_[id];
    free_ += change(node, shape, spot, -1);
    if (node.devices > 0) free_cpu_ += shape.cpu;
    --node.live;
}

}  // namespace aliquot::placement
