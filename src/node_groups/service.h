// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "node_groups/fleet.h"
#include "rpc/method.h"

namespace aliquot::node_groups {

/// A fleet that several threads use.
struct SharedFleet {
    explicit SharedFleet(std::vector<Group> groups) : fleet(std::move(groups)) {}
    std::mutex mutex;
    Fleet fleet;  // under mutex
};

/// The calls of Cluster Autoscaler (api/externalgrpc), answered from memory. What is not among them (prices, options of a
/// group) is Unimplemented, as its proto allows.
/// fleet     outlives the methods
/// changed   called after a call that changes what machines should be; must not wait
std::vector<rpc::Method> methods(SharedFleet& fleet, std::function<void()> changed);

/// The template of a group's nodes: a v1.Node in protobuf form. Nodes of shares carry no GPU label: Cluster Autoscaler
/// would take one without nvidia.com/gpu for a node that never gets ready.
std::string template_node(const Group& group);

}  // namespace aliquot::node_groups
