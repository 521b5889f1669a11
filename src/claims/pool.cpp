// SPDX-License-Identifier: Apache-2.0
#include "claims/pool.h"

#include <algorithm>

#include "claims/capacity.h"

namespace aliquot::claims {
namespace {

Pool pool_of(const PoolId& id, std::vector<const Slice*> slices, const NodeView& node) {
    Pool pool{.id = id};
    std::int64_t newest = 0;
    for (const Slice* slice : slices) newest = std::max(newest, slice->generation);
    std::erase_if(slices, [&](const Slice* slice) { return slice->generation != newest; });
    std::ranges::sort(slices, {}, [](const Slice* slice) { return slice->name; });
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(slices.front()->slices, 0));
    if (slices.size() != wanted) {
        pool.complete = false;
        pool.why_incomplete = std::to_string(slices.size()) + " of " + std::to_string(wanted) +
                              " ResourceSlices of generation " + std::to_string(newest) +
                              " are there";
    }
    for (const Slice* slice : slices) {
        pool.counters.insert(slice->counters.begin(), slice->counters.end());
        for (const Device& device : slice->devices) {
            if (!pool.all_devices.emplace(device.name, &device).second) {
                pool.complete = false;
                pool.why_incomplete = "two devices have the name " + device.name;
            }
            const Reach& reach = slice->by_device ? device.reach : slice->reach;
            if (!reach.covers(node.name, node.labels)) continue;
            pool.devices.push_back({&device, !reach.all_nodes});
        }
    }
    return pool;
}

bool binds(const Pool& pool) {
    return std::ranges::any_of(pool.devices, [](const Pool::Place& place) {
        return !place.device->binding_conditions.empty();
    });
}

}  // namespace

std::vector<Pool> pools_of(const std::vector<Slice>& slices, const NodeView& node) {
    std::map<PoolId, std::vector<const Slice*>> by_pool;
    for (const Slice& slice : slices) by_pool[{slice.driver, slice.pool}].push_back(&slice);
    std::vector<Pool> pools;
    for (auto& [id, list] : by_pool) {
        Pool pool = pool_of(id, std::move(list), node);
        if (!pool.devices.empty()) pools.push_back(std::move(pool));
    }
    std::ranges::stable_sort(pools, {}, binds);
    return pools;
}

void Books::take(const std::string& claim, const Allocated& device) {
    if (device.admin) return;
    holders[device.device].push_back(claim);
    if (device.share.empty()) {
        whole[device.device] = true;
    } else {
        add(consumed[device.device], device.consumed);
    }
}

Books books_of(const std::vector<Claim>& claims) {
    Books books;
    for (const Claim& claim : claims) {
        if (!claim.allocation) continue;
        for (const Allocated& device : claim.allocation->devices) {
            books.take(claim.full_name(), device);
        }
    }
    return books;
}

const DeviceClass* class_of_extended_resource(const std::map<std::string, DeviceClass>& classes,
                                              const std::string& resource) {
    constexpr std::string_view kImplicit = "deviceclass.resource.kubernetes.io/";
    const DeviceClass* found = nullptr;
    for (const auto& [name, one] : classes) {
        if (one.extended_resource != resource) continue;
        if (found == nullptr || one.created > found->created) found = &one;
    }
    if (found != nullptr || !resource.starts_with(kImplicit)) return found;
    const auto named = classes.find(resource.substr(kImplicit.size()));
    return named == classes.end() ? nullptr : &named->second;
}

}  // namespace aliquot::claims
