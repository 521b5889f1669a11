// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "k8s/taint.h"
#include "labels/labels.h"

namespace aliquot::node {

/// A condition as we wish it. Its times are the API's business.
struct Condition {
    std::string type;
    bool good = true;     // status True
    std::string reason;   // CamelCase
    std::string message;  // for people
    friend bool operator==(const Condition&, const Condition&) = default;
};

/// A Node as the API server has it, as far as we change it.
struct NodeObject {
    struct PresentTaint {
        k8s::Taint taint;
        std::string json;  // whole: timeAdded must stay
    };
    struct PresentCondition {
        Condition condition;
        std::string transition;  // RFC 3339
        std::string heartbeat;
    };
    std::string name;
    std::string uid;
    std::string resource_version;
    labels::Labels labels;
    labels::Labels annotations;
    std::vector<PresentTaint> taints;
    std::vector<PresentCondition> conditions;  // of all types

    [[nodiscard]] const PresentCondition* find(std::string_view type) const;
    /// The value of a label; empty optional: it has none.
    [[nodiscard]] std::optional<std::string> label(const std::string& key) const;
};

/// Reads any bytes; never throws.
/// errors   kInvalidInput: no Node
Result<NodeObject> read_node(std::string_view json);

/// The names that an annotation lists: what of the Node's labels and taints is ours.
std::vector<std::string> owned_names(const NodeObject& node, const std::string& annotation);

}  // namespace aliquot::node
