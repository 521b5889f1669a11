// SPDX-License-Identifier: Apache-2.0
// Why nothing fits, and whether the node table and the cached keys are right.
#include <algorithm>

#include "placement/state.h"

namespace aliquot::placement {
namespace {

/// How much is missing on a node, by its worst part; for "nearest".
struct Miss {
    double part = 0;  // missing as a share of what is asked
    std::string words;
};

std::string more(std::int64_t amount, const char* unit) {
    return "needs " + std::to_string(amount) + " more " + unit;
}

std::int64_t most_free(const Node& node, bool memory) {
    std::int64_t most = 0;
    for (unsigned i = 0; i < node.devices; ++i)
        if (!node.is_mig(i))
            most = std::max<std::int64_t>(most, memory ? node.mib[i] : node.milli[i]);
    return most;
}

std::uint64_t hash_of(const DeviceState& device) {
    const std::int32_t milli = device.mig ? device.mig_mask : device.milli;
    return NodeTable::device_hash(static_cast<std::uint32_t>(milli), device.mib, device.mig);
}

Miss gpu_miss(const Node& node, const Shape& shape) {
    const unsigned fitting = NodeTable::fitting_devices(node, shape);
    if (shape.mig) return {1, "has no room for MIG " + shape.mig_profile};
    if (shape.is_whole()) {
        const unsigned missing = shape.gpus - fitting;
        return {static_cast<double>(missing) / shape.gpus,
                more(missing, missing == 1 ? "free GPU" : "free GPUs")};
    }
    const std::int64_t milli = shape.milli - most_free(node, false);
    const std::int64_t mib = shape.mib - most_free(node, true);
    if (milli > 0)
        return {static_cast<double>(milli) / shape.milli, more(milli, "milli on one GPU")};
    if (mib > 0) return {static_cast<double>(mib) / shape.mib, more(mib, "MiB on one GPU")};
    return {0.5, "has compute and memory free, but not on the same GPU"};
}

}  // namespace

Refusal Engine::refusal(const Request& request) const {
    Refusal why{.nodes = node_count()};
    auto good = checked(request);
    if (!good) return why;
    auto kind = state_->kind_of(*good);
    if (!kind) return why;
    const Shape& shape = state_->ranking.shape_of(*kind);
    const std::vector<NodeId> excluded = state_->excluded_by(good->anti_affinity);
    double nearest = 0;
    for (NodeId id = 0; id < why.nodes; ++id) {
        const Node& node = state_->node_table.node(id);
        if (shape.gpus > 0 &&
            (node.devices < shape.gpus || ((shape.models >> node.model) & 1U) == 0)) {
            ++why.model;
            continue;
        }
        if (!state_->ranking.admits(*kind, id)) {
            ++why.labels;
            continue;
        }
        if (std::find(excluded.begin(), excluded.end(), id) != excluded.end()) {
            ++why.affinity;
            continue;
        }
        if (NodeTable::fits(node, shape)) continue;
        Miss miss;
        std::string words;
        const auto add = [&](double part, const std::string& text) {
            miss.part += part;
            words += (words.empty() ? "" : ", ") + text;
        };
        const bool gpu = NodeTable::fitting_devices(node, shape) < shape.gpus;
        if (gpu) {
            const Miss lacking = gpu_miss(node, shape);
            add(lacking.part, lacking.words);
        }
        if (node.cpu < shape.cpu)
            add(static_cast<double>(shape.cpu - node.cpu) / shape.cpu,
                more(shape.cpu - node.cpu, "milli CPU"));
        if (node.memory < shape.memory)
            add(static_cast<double>(shape.memory - node.memory) / shape.memory,
                more(shape.memory - node.memory, "MiB memory"));
        ++(gpu ? why.gpu : node.cpu < shape.cpu ? why.cpu : why.memory);
        if (why.nearest != kNoNode && miss.part >= nearest) continue;
        nearest = miss.part;
        why.nearest = id;
        why.nearest_miss = state_->node_table.spec(id).name + ": " + words;
    }
    return why;
}

std::vector<PlacementId> Engine::blockers(const Request& request) const {
    std::vector<PlacementId> found;
    auto good = checked(request);
    if (!good) return found;
    auto kind = state_->kind_of(*good);
    if (!kind) return found;
    const Shape& shape = state_->ranking.shape_of(*kind);
    const std::vector<NodeId> excluded = state_->excluded_by(good->anti_affinity);
    for (NodeId id = 0; id < node_count(); ++id) {
        const Node& node = state_->node_table.node(id);
        if (shape.gpus > 0 &&
            (node.devices < shape.gpus || ((shape.models >> node.model) & 1U) == 0))
            continue;
        if (!state_->ranking.admits(*kind, id) ||
            std::find(excluded.begin(), excluded.end(), id) != excluded.end())
            continue;
        for (const PlacementId there : state_->on_node[id]) {
            const Live& live = state_->live.at(there);
            const Shape& leaving = state_->ranking.shape_of(live.kind);
            if (node.cpu + leaving.cpu < shape.cpu || node.memory + leaving.memory < shape.memory)
                continue;
            Node without = node;
            NodeTable::put_back(without, leaving, live.spot);
            if (NodeTable::fits(without, shape)) found.push_back(there);
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

Result<Placement> Engine::elsewhere(PlacementId id) {
    const auto found = state_->live.find(id);
    if (found == state_->live.end())
        return Error{ErrorCode::kNotFound, "placement " + std::to_string(id) + ": not there"};
    const Live& live = found->second;
    std::vector<NodeId> excluded = state_->excluded_by(live.anti_affinity);
    excluded.push_back(live.node);
    auto where = state_->choose(state_->ranking.request_of(live.kind), live.kind, excluded);
    if (where) {
        where->id = id;
        where->cost = state_->scorer->breakdown(state_->node_table.node(where->node), where->node,
                                                state_->ranking.shape_of(live.kind));
    }
    return where;
}

std::string Engine::self_check() {
    state_->lay_out();
    // The node_table from nothing: every node empty, every live placement taken.
    std::vector<NodeState> fresh;
    for (NodeId id = 0; id < node_count(); ++id) {
        const NodeSpec& spec = node(id);
        NodeState empty{.cpu_milli = spec.cpu_milli, .memory_mib = spec.memory_mib};
        for (unsigned i = 0; i < spec.devices; ++i) {
            const bool mig = ((spec.mig_devices >> i) & 1U) != 0;
            empty.devices.push_back(
                {.milli = mig ? 0 : kWholeGpu, .mib = mig ? 0 : spec.device_mib, .mig = mig});
        }
        fresh.push_back(std::move(empty));
    }
    for (const auto& [id, live] : state_->live) {
        const Shape& shape = state_->ranking.shape_of(live.kind);
        NodeState& state = fresh[live.node];
        state.cpu_milli -= shape.cpu;
        state.memory_mib -= shape.memory;
        for (unsigned i = 0; i < live.spot.count; ++i) {
            DeviceState& device = state.devices[live.spot.device[i]];
            if (shape.mig) {
                const MigProfile& profile =
                    *NodeTable::profile_on(state_->node_table.node(live.node), shape);
                const std::uint8_t slices = slices_at(profile, live.spot.mig_start);
                if ((device.mig_mask & slices) != 0)
                    return node(live.node).name + ": two MIG instances on one slice";
                device.mig_mask |= slices;
            } else {
                device.milli -= shape.milli;
                device.mib = shape.is_whole() ? device.mib - node(live.node).device_mib
                                              : device.mib - shape.mib;
            }
        }
    }
    for (NodeId id = 0; id < node_count(); ++id) {
        if (fresh[id] != state(id))
            return node(id).name + ": the node table disagrees with its live placements";
        const Node& kept = state_->node_table.node(id);
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < kept.devices; ++i) sum += hash_of(fresh[id].devices[i]);
        if (sum != kept.device_sum) return node(id).name + ": the hash of its state is wrong";
        if (fresh[id].cpu_milli < 0 || fresh[id].memory_mib < 0)
            return node(id).name + ": promised more than it has";
        for (const DeviceState& device : fresh[id].devices)
            if (device.milli < 0 || device.mib < 0)
                return node(id).name + ": a GPU is promised twice";
    }
    return state_->ranking.self_check();
}

}  // namespace aliquot::placement
