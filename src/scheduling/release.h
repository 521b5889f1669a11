// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "scheduling/plan.h"

namespace aliquot::scheduling {

/// The one JSON Patch (RFC 6902) that lets kube-scheduler look at a pod: required node affinity to the plan's
/// nodes, the annotation, the gate away. It holds only for the object version in `pod_json`.
///
/// Where the pod has no required node affinity the nodes are named (matchFields, one term for each: the API
/// takes one name in a term). Where it has, the number of terms must stay, so each of them gets the label
/// kubernetes.io/hostname with all nodes as values; nodes without that label are left out, and with one node
/// left its name is taken.
/// plan       without targets: the gate goes and nothing else is changed
/// hostnames  by node: its label kubernetes.io/hostname
/// errors   kInvalidInput: no JSON object, or it has no such gate
Result<std::string> release_patch(std::string_view pod_json, const Plan& plan,
                                  const std::map<std::string, std::string>& hostnames);

/// Where a pod may go as its owner wrote it: without the node that it has and what release_patch() added for its plan.
/// What cannot be told from that (the labels of a planned node have changed) stays.
k8s::NodeSelector own_rules(const GpuPod& pod, const std::map<std::string, std::string>& hostnames);

}  // namespace aliquot::scheduling
