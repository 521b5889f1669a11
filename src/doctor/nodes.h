// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/check.h"
#include "doctor/cluster.h"

/// What the checks of Node objects have in common.
namespace aliquot::doctor {

/// All nodes, or the one that is asked about, or that the pod runs on that is asked about.
std::vector<const Object*> nodes_of(const Facts& facts);
/// The names in the node's capacity that are GPUs or parts of GPUs.
std::vector<std::string> gpu_resources(const Object& node);
/// Empty: the node has no such label.
std::string label(const Object& node, std::string_view name);
/// Is the node the host whose files were read? By its host name; without one, where it is the only node.
bool is_this_host(const Facts& facts, const Object& node);
/// kUnknown: nodes_of() is empty, and why.
Verdict no_nodes(const Facts& facts);
/// kUnknown: one of these kinds was not read ("pods were not read: ..."), and why, when it is known.
Verdict not_read(const Facts& facts, std::initializer_list<std::string_view> kinds);
/// The ConfigMap that our agent reads by the API, when it is there: nothing names it in a volume.
std::string agent_config(const Facts& facts);
/// The command that restarts the device plugin, by its DaemonSet where that is known.
std::string restart_of_plugin(const Facts& facts);

}  // namespace aliquot::doctor
