// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bundle/tree.h"
#include "cli/command.h"
#include "doctor/facts.h"
#include "kube_client/api.h"

namespace aliquot::command_line {
class Command;
}  // namespace aliquot::command_line

namespace aliquot::cli {

/// How `doctor --slow` measures: two looks at what node agents tell.
struct SlowOptions {
    bool asked = false;
    unsigned seconds = 3;             // between the looks
    std::vector<std::string> agents;  // addresses; empty: found by themselves
    std::string container;            // of the pod; empty: all of them
    std::uint32_t pid = 0;            // of this machine; 0: all of them
};

/// --slow and what goes with it.
/// options   outlives the parsing
void add_slow_flags(command_line::Command& command, SlowOptions& options);

/// Sets `asked` where another flag implies it.
/// target   the words behind `doctor`
/// False: words that do not go together, it was said which.
bool complete(Context& context, SlowOptions& options, const std::vector<std::string>& target);

/// Adds agent/NODE/state.json and state-later.json: of the agents that are named, else of this
/// machine's (of `node_state` where that is a simulated node), else what the driver tells without
/// an agent. What does not answer is noted with its reason. False: an address is none, it was said.
bool add_states(Context& context, const SlowOptions& options, const std::string& node_state,
                bundle::Tree& tree);

/// The same of the agent beside a pod ("NAMESPACE/POD") or on a node, through the API server: needs
/// the right to get pods/proxy there. `tree` holds k8s/pods.json.
void add_states_of_cluster(kube_client::Api& api, const SlowOptions& options,
                           const std::vector<std::string>& target, bundle::Tree& tree);

/// False: the process that is asked about uses none of the GPUs that were measured, it was said.
bool uses_a_gpu(Context& context, const doctor::Facts& facts);

}  // namespace aliquot::cli
