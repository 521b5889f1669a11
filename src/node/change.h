// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "labels/labels.h"
#include "node/node_object.h"

namespace aliquot::node {

/// What one agent wants its Node to say.
struct DesiredNode {
    labels::Labels labels;
    std::vector<k8s::Taint> taints;
    /// Ours only (names.h), without kOwnedLabels and kOwnedTaints. An empty value: to be removed.
    /// Those not named stay as they are.
    std::map<std::string, std::string> annotations;
    /// Labels outside of the bookkeeping: kMigStateLabel, which answers a person's label. An empty
    /// value: to be removed.
    labels::Labels answers;
    std::vector<Condition> conditions;
    std::vector<std::string> ended;  // types of conditions that are to be removed
};

/// The two requests that bring a Node to a DesiredNode. Each body may be empty: nothing to do.
struct Change {
    /// JSON merge patch of the Node, bound to its resourceVersion: two writers cannot undo each
    /// other's labels or taints.
    std::string merge;
    /// Strategic merge patch of its status: conditions of other types stay.
    std::string status;
    /// Labels and taints of somebody else that stand where we want another value: they stay.
    std::vector<std::string> foreign;

    [[nodiscard]] bool empty() const { return merge.empty() && status.empty(); }
};

/// Only what we wrote is ever changed or removed: the keys are kept in annotations of the Node
/// itself, so that an agent on a new machine knows them too. Pure.
/// now         for the times of conditions
/// heartbeat   a condition that has been told so long ago is told again
Change change_node(const k8s::Node& node, const DesiredNode& desired,
                   std::chrono::system_clock::time_point now, std::chrono::seconds heartbeat);

/// Takes away everything that an agent has written. Pure.
Change clear_node(const k8s::Node& node);

}  // namespace aliquot::node
