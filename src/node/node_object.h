// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "k8s/node.h"

namespace aliquot::node {

/// A condition as it should be. Its times are the API's business.
struct Condition {
    std::string type;
    bool good = true;     // status True
    std::string reason;   // CamelCase
    std::string message;  // for people

    /// Whether a Node's condition says just this.
    [[nodiscard]] bool is_told(const k8s::NodeCondition& present) const {
        return present.type == type && present.is_true() == good && present.reason == reason &&
               present.message == message;
    }
};

/// The names that an annotation lists: what of the Node's labels and taints is ours.
std::vector<std::string> owned_names(const k8s::Node& node, const std::string& annotation);

}  // namespace aliquot::node
