// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "claims/claim.h"
#include "claims/pool.h"

namespace aliquot::claims {

/// All that a scheduler knows.
struct Cluster {
    std::vector<Slice> slices{};
    std::map<std::string, DeviceClass> classes{};
    std::vector<Claim> claims{};  // those that are allocated hold their devices
};

/// Why a device was not taken for a request.
struct Refusal {
    std::string claim;    // "default/gpu"
    std::string request;  // "gpu" or "gpu/large"
    DeviceId device;      // empty: the request can have none at all
    std::string reason;   // "the selector 'device.attributes...' is false"
};

struct Answer {
    /// One for each claim, in order; empty: there is none, and `failure` says why.
    std::vector<Allocation> allocations{};
    /// "claim default/gpu: request gpu: ..."; the first thing in the way.
    std::string failure{};
    std::vector<Refusal> refusals{};  // at most 1,000
};

/// Gives devices that `node` reaches to all of `claims`, which are not allocated, or to none of them:
/// depth first, claims, requests, alternatives and devices in their order, the first that fits. Selectors
/// see what a device has, never what is left of it. Ends after 200,000 devices looked at.
/// new_share   a UUID for each share of a shared device
/// source      k8s.io/dynamic-resource-allocation/structured, 1.36
Answer allocate(const Cluster& cluster, const NodeView& node, const std::vector<Claim>& claims,
                const std::function<std::string()>& new_share);

/// Nothing is taken; only each device of the node looked at for each request on its own. For explanations.
std::vector<Refusal> refusals_of(const Cluster& cluster, const NodeView& node, const Claim& claim);

}  // namespace aliquot::claims
