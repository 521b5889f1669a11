// SPDX-License-Identifier: Apache-2.0
#include "scheduling/pools.h"

#include <algorithm>

#include "base/log.h"

namespace aliquot::scheduling {
namespace {

constexpr std::uint32_t kReconsiderEvery = 64;

placement::Options engine_options() { return {.learn = true, .learn_every = kReconsiderEvery}; }

/// GPUs of the node by resource and units, in the node's order, at most kMostDevices together.
std::vector<Pool> pools_of(const ServedNode& node) {
    std::vector<Pool> pools;
    for (const ServedGpu& gpu : node.gpus) {
        for (const auto& [resource, units] : gpu.units) {
            const auto found = std::find_if(pools.begin(), pools.end(), [&](const Pool& pool) {
                return pool.resource == resource && pool.units == units &&
                       pool.gpus.size() < placement::kMostDevices;
            });
            if (found != pools.end()) {
                found->gpus.push_back(gpu.uuid);
            } else {
                pools.push_back(
                    {.node = node.name, .resource = resource, .units = units, .gpus = {gpu.uuid}});
            }
        }
    }
    return pools;
}

/// Pools of other units are other kinds of GPUs to the engine.
std::string model_of(const std::string& resource, unsigned units) {
    return resource + " / " + std::to_string(units);
}

}  // namespace

placement::Request request_of(const std::string& resource, unsigned units, unsigned count) {
    placement::Request request{
        .gpus = 1, .milli = placement::kWholeGpu, .models = {model_of(resource, units)}};
    if (units <= 1) {
        request.gpus = static_cast<std::uint8_t>(std::min(count, placement::kMostDevices));
        return request;
    }
    if (count >= units) return request;  // all of one GPU
    constexpr std::uint64_t kWhole = placement::kWholeGpu;
    request.milli = static_cast<std::int32_t>(kWhole * count / units);
    request.mib = static_cast<std::int32_t>(count);
    return request;
}

Pools::Pools() : engine_(engine_options()) {}

void Pools::add(const ServedNode& node) {
    for (Pool& pool : pools_of(node)) {
        const auto id = engine_.add_node({.name = std::to_string(pools_.size()),
                                          .cpu_milli = node.cpu_milli,
                                          .memory_mib = node.memory_mib,
                                          .devices = static_cast<std::uint8_t>(pool.gpus.size()),
                                          .model = model_of(pool.resource, pool.units),
                                          .device_mib = static_cast<std::int32_t>(pool.units)});
        if (!id) {  // more kinds of resources than the engine tells apart
            log::warning(
                "placement.pool_left_out",
                {{"node", node.name}, {"resource", pool.resource}, {"why", id.error().message}});
            continue;
        }
        pool.id = *id;
        by_id_.resize(std::max<std::size_t>(by_id_.size(), pool.id + std::size_t{1}));
        by_id_[pool.id] = pools_.size();
        by_node_[node.name].push_back(pools_.size());
        units_[pool.resource].insert(pool.units);
        pools_.push_back(std::move(pool));
    }
}

const std::vector<std::size_t>& Pools::of_node(const std::string& node) const {
    static const std::vector<std::size_t> kNone;
    const auto found = by_node_.find(node);
    return found == by_node_.end() ? kNone : found->second;
}

const std::set<unsigned>& Pools::units_of(const std::string& resource) const {
    static const std::set<unsigned> kNone;
    const auto found = units_.find(resource);
    return found == units_.end() ? kNone : found->second;
}

std::optional<std::pair<std::size_t, std::uint8_t>> Pools::find(const std::string& node,
                                                                const std::string& resource,
                                                                const std::string& gpu) const {
    for (const std::size_t index : of_node(node)) {
        const Pool& pool = pools_[index];
        if (pool.resource != resource) continue;
        const auto device = std::find(pool.gpus.begin(), pool.gpus.end(), gpu);
        if (device == pool.gpus.end()) continue;
        return std::pair(index, static_cast<std::uint8_t>(device - pool.gpus.begin()));
    }
    return std::nullopt;
}

unsigned Pools::free_units(const Pool& pool, unsigned device) const {
    const placement::DeviceState state = engine_.state(pool.id).devices.at(device);
    if (pool.units <= 1) return state.milli == placement::kWholeGpu ? 1 : 0;
    return static_cast<unsigned>(std::max(state.mib, 0));
}

}  // namespace aliquot::scheduling
