// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "k8s/label_selector.h"

namespace aliquot::document {
struct Value;
}

namespace aliquot::k8s {

/// One of nodeSelectorTerms: all of its requirements must hold. A term without any matches no node.
struct NodeSelectorTerm {
    std::vector<Requirement> labels;  // matchExpressions
    std::vector<Requirement> fields;  // matchFields: metadata.name

    [[nodiscard]] bool empty() const { return labels.empty() && fields.empty(); }
    /// The first that does not hold for the node; nullptr: all do, or there is none.
    [[nodiscard]] const Requirement* first_unmet(const std::string& node_name,
                                                 const Labels& node_labels) const;
    [[nodiscard]] bool matches(const std::string& node_name, const Labels& node_labels) const {
        return !empty() && first_unmet(node_name, node_labels) == nullptr;
    }
};

/// Where a pod may run, as its spec says: nodeName, nodeSelector, required node affinity. Not taints
/// and not room.
/// source   k8s.io/component-helpers/scheduling/corev1/nodeaffinity
struct NodeSelector {
    std::string node_name{};
    Labels labels{};         // nodeSelector
    bool has_terms = false;  // of required node affinity: one must match
    std::vector<NodeSelectorTerm> terms{};

    [[nodiscard]] bool is_anywhere() const {
        return node_name.empty() && labels.empty() && !has_terms;
    }
    [[nodiscard]] bool matches(const std::string& name, const Labels& node_labels) const;
};

/// Of a pod's `spec`. An empty list of terms, which the API refuses, is none.
NodeSelector read_node_selector(const document::Value& pod_spec);

}  // namespace aliquot::k8s
