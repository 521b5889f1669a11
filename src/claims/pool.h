// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "claims/claim.h"

namespace aliquot::claims {

/// A node as far as devices care.
struct NodeView {
    std::string name;
    k8s::Labels labels{};
};

struct PoolId {
    std::string driver;
    std::string pool;
    friend auto operator<=>(const PoolId&, const PoolId&) = default;
};

/// The newest generation of a pool, as one node sees it.
struct Pool {
    PoolId id{};
    bool complete = true;  // all of its slices are there
    std::string why_incomplete{};
    struct Place {
        const Device* device = nullptr;
        bool local = false;  // the node alone reaches it
    };
    std::vector<Place> devices{};  // in the scheduler's order
    std::map<std::string, Amounts> counters{};
    /// Of the whole pool, for what claims on other nodes hold of counters.
    std::map<std::string, const Device*> all_devices{};
};

/// The pools with a device that `node` reaches; those with binding conditions last, else by driver and
/// name; slices in the order of their names. `slices` must outlive them.
std::vector<Pool> pools_of(const std::vector<Slice>& slices, const NodeView& node);

/// What claims hold already.
struct Books {
    std::map<DeviceId, std::vector<std::string>> holders{};  // names of claims
    std::map<DeviceId, Amounts> consumed{};                  // of devices that are shared
    std::map<DeviceId, bool> whole{};                        // a claim holds all of it
    void take(const std::string& claim, const Allocated& device);
};
/// Of those that are allocated; admin access holds nothing.
Books books_of(const std::vector<Claim>& claims);

/// The class that serves an extended resource ("nvidia.com/gpu", or deviceclass.resource.kubernetes.io/NAME):
/// of several the youngest, then the first by name; nullptr: none.
const DeviceClass* class_of_extended_resource(const std::map<std::string, DeviceClass>& classes,
                                              const std::string& resource);

}  // namespace aliquot::claims
