// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/device_accounts.h"

#include <utility>

namespace aliquot::sim {

Ids Allocation::ids() const {
    Ids result;
    for (const auto& [node, ids] : ids_by_numa) result.insert(ids.begin(), ids.end());
    return result;
}

void DeviceAccounts::replace(const std::string& resource,
                             const std::vector<ListedDevice>& devices) {
    auto& all = all_[resource];
    all.clear();
    Resource now;
    for (const auto& device : devices) {
        all[device.id] = device;  // an id that comes twice is one device; the last one counts
        (device.healthy ? now.healthy : now.unhealthy).insert(device.id);
    }
    resources_[resource] = std::move(now);
}

void DeviceAccounts::mark_unhealthy(const std::string& resource) {
    auto& devices = resources_[resource];
    devices.unhealthy.merge(devices.healthy);
    devices.healthy.clear();
}

void DeviceAccounts::drop(const std::string& resource) { resources_.erase(resource); }

bool DeviceAccounts::registered(const std::string& resource) const {
    return resources_.contains(resource);
}

const Ids& DeviceAccounts::healthy(const std::string& resource) const {
    static const Ids none;
    const auto found = resources_.find(resource);
    return found == resources_.end() ? none : found->second.healthy;
}

const Ids& DeviceAccounts::unhealthy(const std::string& resource) const {
    static const Ids none;
    const auto found = resources_.find(resource);
    return found == resources_.end() ? none : found->second.unhealthy;
}

Ids DeviceAccounts::in_use(const std::string& resource) const {
    Ids result;
    for (const auto& [uid, containers] : pods_) {
        for (const auto& [container, allocations] : containers) {
            const auto found = allocations.find(resource);
            if (found != allocations.end()) result.merge(found->second.ids());
        }
    }
    return result;
}

Ids DeviceAccounts::resources() const {
    Ids result;
    for (const auto& [resource, devices] : resources_) result.insert(resource);
    for (const auto& [uid, containers] : pods_) {
        for (const auto& [container, allocations] : containers) {
            for (const auto& [resource, allocation] : allocations) result.insert(resource);
        }
    }
    return result;
}

const ListedDevice* DeviceAccounts::find(const std::string& resource, const std::string& id) const {
    const auto devices = all_.find(resource);
    if (devices == all_.end()) return nullptr;
    const auto device = devices->second.find(id);
    return device == devices->second.end() ? nullptr : &device->second;
}

void DeviceAccounts::record(const std::string& uid, const std::string& container,
                            const std::string& resource, const Ids& ids, std::string response) {
    Allocation allocation{.response = std::move(response)};
    for (const auto& id : ids) {
        const ListedDevice* device = find(resource, id);
        if (device == nullptr || device->numa_nodes.empty()) {
            allocation.ids_by_numa[kNoNumaNode].push_back(id);
            continue;
        }
        for (const auto node : device->numa_nodes) allocation.ids_by_numa[node].push_back(id);
    }
    pods_[uid][container][resource] = std::move(allocation);
}

bool DeviceAccounts::forget(const std::string& uid) { return pods_.erase(uid) > 0; }

const Allocation* DeviceAccounts::allocation(const std::string& uid, const std::string& container,
                                             const std::string& resource) const {
    const auto pod = pods_.find(uid);
    if (pod == pods_.end()) return nullptr;
    const auto allocations = pod->second.find(container);
    if (allocations == pod->second.end()) return nullptr;
    const auto found = allocations->second.find(resource);
    return found == allocations->second.end() ? nullptr : &found->second;
}

Checkpoint DeviceAccounts::checkpoint() const {
    Checkpoint result;
    for (const auto& [uid, containers] : pods_) {
        for (const auto& [container, allocations] : containers) {
            for (const auto& [resource, allocation] : allocations) {
                result.entries.push_back({.pod_uid = uid,
                                          .container = container,
                                          .resource = resource,
                                          .ids_by_numa = allocation.ids_by_numa,
                                          .response = allocation.response});
            }
        }
    }
    for (const auto& [resource, devices] : resources_) {
        result.registered[resource].assign(devices.healthy.begin(), devices.healthy.end());
    }
    return result;
}

void DeviceAccounts::restore(const Checkpoint& checkpoint) {
    *this = DeviceAccounts{};
    for (const auto& entry : checkpoint.entries) {
        pods_[entry.pod_uid][entry.container][entry.resource] = {.ids_by_numa = entry.ids_by_numa,
                                                                 .response = entry.response};
    }
    for (const auto& [resource, ids] : checkpoint.registered) resources_[resource];
}

}  // namespace aliquot::sim
