// SPDX-License-Identifier: Apache-2.0
#include "k8s/node_selector.h"

#include <algorithm>

#include "document/path.h"

namespace aliquot::k8s {

using document::Value;

const Requirement* NodeSelectorTerm::first_unmet(const std::string& node_name,
                                                 const Labels& node_labels) const {
    const Requirement* const unmet = k8s::first_unmet(labels, node_labels);
    return unmet != nullptr ? unmet : k8s::first_unmet(fields, {{"metadata.name", node_name}});
}

bool NodeSelector::matches(const std::string& name, const Labels& node_labels) const {
    if (!node_name.empty() && name != node_name) return false;
    const auto has = [&](const auto& wanted) {
        const auto found = node_labels.find(wanted.first);
        return found != node_labels.end() && found->second == wanted.second;
    };
    return std::ranges::all_of(labels, has) &&
           (!has_terms || std::ranges::any_of(terms, [&](const NodeSelectorTerm& term) {
               return term.matches(name, node_labels);
           }));
}

NodeSelector read_node_selector(const Value& pod_spec) {
    NodeSelector made{.node_name = text_at(pod_spec, {"nodeName"}),
                      .labels = read_labels(pod_spec.find("nodeSelector"))};
    const Value* at = &pod_spec;
    for (const char* const key :
         {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
          "nodeSelectorTerms"}) {
        at = at->find(key);
        if (at == nullptr) return made;
    }
    for (const Value& term : at->items) {
        made.terms.push_back({.labels = read_requirements(term.find("matchExpressions")),
                              .fields = read_requirements(term.find("matchFields"))});
    }
    made.has_terms = !made.terms.empty();
    return made;
}

}  // namespace aliquot::k8s
