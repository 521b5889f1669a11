// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "k8s/node_selector.h"
#include "sim/cluster/manifest_object.h"

namespace aliquot::sim::cluster {

/// Reads affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution of a pod spec.
std::vector<k8s::NodeSelectorTerm> read_required_node_affinity(ObjectReader& pod);

/// Reads `key` (matchExpressions, matchFields) of a node selector term or a label selector.
std::vector<k8s::Requirement> read_requirements(ObjectReader& term, std::string_view key);

/// Complains at `key` of `object` unless this can be a label.
void check_label(ObjectReader& object, std::string_view key, const std::string& name,
                 const std::string& value);

}  // namespace aliquot::sim::cluster
