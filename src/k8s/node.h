// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "k8s/amounts.h"
#include "k8s/label_selector.h"
#include "k8s/taint.h"

namespace aliquot::k8s {

/// Of a Node's status. Times are RFC 3339, as the API server has them.
struct NodeCondition {
    std::string type;    // "Ready"
    std::string status;  // "True", "False", "Unknown"
    std::string reason;
    std::string message;
    std::string transition;  // lastTransitionTime
    std::string heartbeat;   // lastHeartbeatTime

    [[nodiscard]] bool is_true() const { return status == "True"; }
};

/// A taint as it stands on a Node.
struct NodeTaint : Taint {
    std::string time_added;  // RFC 3339; empty: not said
};

/// A Node object.
struct Node {
    std::string name;
    std::string uid;
    std::string resource_version;
    Labels labels;
    Labels annotations;
    std::vector<NodeTaint> taints;
    bool is_cordoned = false;  // spec.unschedulable
    Amounts capacity;          // as kubelet counts it
    Amounts allocatable;       // what pods may have of it
    std::vector<NodeCondition> conditions;
    std::string kubelet_version;

    [[nodiscard]] const NodeCondition* find(std::string_view type) const;
    /// nullopt: it has no such label
    [[nodiscard]] std::optional<std::string> label(const std::string& key) const;
    /// A node without that condition is not ready.
    [[nodiscard]] bool is_ready() const;
};

/// Of any document: what is missing or of another kind stays empty.
Node read_node(const document::Value& object);

/// errors   kInvalidInput: no Node: it has no name
Result<Node> named_node(const document::Value& object);
/// Reads any bytes; never throws.
/// errors   kInvalidInput: no JSON, or as named_node()
Result<Node> parse_node(std::string_view json);

}  // namespace aliquot::k8s
