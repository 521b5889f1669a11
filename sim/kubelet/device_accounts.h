// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/kubelet/checkpoint.h"

namespace aliquot::sim {

using Ids = std::set<std::string>;

/// A device as a plugin lists it.
struct ListedDevice {
    std::string id;
    bool healthy = true;                   // health is exactly "Healthy"
    std::vector<std::int64_t> numa_nodes;  // empty: no topology
};

/// Devices that one container holds of one resource, with the plugin's answer.
struct Allocation {
    std::map<std::int64_t, std::vector<std::string>> ids_by_numa;
    std::string response;  // ContainerAllocateResponse, serialised
    [[nodiscard]] Ids ids() const;
};

/// The books of kubelet's device manager: which devices exist, which are healthy, who holds what.
/// Only values: no socket, no lock. Not thread-safe.
class DeviceAccounts {
public:
    using ByResource = std::map<std::string, Allocation>;
    using ByContainer = std::map<std::string, ByResource>;

    /// A message of ListAndWatch: these and no others.
    void replace(const std::string& resource, const std::vector<ListedDevice>& devices);
    /// The stream ended: every device counts as unhealthy from now on.
    void mark_unhealthy(const std::string& resource);
    /// The grace time is over: capacity 0. What pods hold stays.
    void drop(const std::string& resource);

    [[nodiscard]] bool registered(const std::string& resource) const;
    [[nodiscard]] const Ids& healthy(const std::string& resource) const;
    [[nodiscard]] const Ids& unhealthy(const std::string& resource) const;
    /// Held by any pod.
    [[nodiscard]] Ids in_use(const std::string& resource) const;
    /// Resources that are registered or held.
    [[nodiscard]] Ids resources() const;
    [[nodiscard]] const ListedDevice* find(const std::string& resource,
                                           const std::string& id) const;

    void record(const std::string& uid, const std::string& container, const std::string& resource,
                const Ids& ids, std::string response);
    /// Returns whether the pod held anything.
    bool forget(const std::string& uid);
    [[nodiscard]] const std::map<std::string, ByContainer>& pods() const { return pods_; }
    [[nodiscard]] const Allocation* allocation(const std::string& uid, const std::string& container,
                                               const std::string& resource) const;

    [[nodiscard]] Checkpoint checkpoint() const;
    /// Starts anew from a checkpoint: registered resources are known, but have no devices.
    void restore(const Checkpoint& checkpoint);

private:
    struct Resource {
        Ids healthy;
        Ids unhealthy;
    };
    std::map<std::string, std::map<std::string, ListedDevice>> all_;  // outlives drop(), as kubelet
    std::map<std::string, Resource> resources_;
    std::map<std::string, ByContainer> pods_;
};

}  // namespace aliquot::sim
