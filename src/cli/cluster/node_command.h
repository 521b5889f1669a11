// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/cluster/cluster_flags.h"
#include "cli/command.h"
#include "node/gpu_node.h"

/// What the subcommands of `aliquot node` that speak to a cluster have in common.
namespace aliquot::cli {

/// Which nodes a command is about.
struct NodeChoice {
    std::vector<std::string> names;
    std::string selector;
    bool all = false;
};

struct ClusterNodes {
    std::vector<node::GpuNode> nodes;  // by name
    std::string resource_version;      // of the list
};

/// The nodes of a cluster, one API request per 500; without who set which label.
/// Empty: it was said why not, and the exit code is set.
std::optional<ClusterNodes> read_nodes(Context& context, kube_client::Api& api,
                                       const ClusterOptions& words, const std::string& selector);

/// Those that were chosen. A name that is not there is an error with the nearest one. Nobody
/// chosen is an error, too.
std::optional<ClusterNodes> choose_nodes(Context& context, kube_client::Api& api,
                                         const ClusterOptions& words, const NodeChoice& choice);

/// Who holds what, by node. `problem` is set and the map empty when we may not list pods.
using Holders = std::map<std::string, std::vector<node::Holder>>;
Holders read_holders(kube_client::Api& api, const ClusterOptions& words, const std::string& node,
                     std::string& problem);

/// Adds to the nodes what they hand out by ResourceClaims, and to what pods hold what they have by
/// claims. `problem` is set, and nothing added, when we may not list these.
void read_claims(kube_client::Api& api, const ClusterOptions& words, ClusterNodes& nodes,
                 Holders& holders, std::string& problem);

/// Writes labels of a node by server-side apply under the field manager "aliquot", whose labels are
/// read first: others stay as they are.
struct LabelChange {
    std::map<std::string, std::string> set;
    std::vector<std::string> remove;
    bool force = false;  // take labels over that somebody else has set
    bool dry_run = false;
};
/// What became of it: "labeled", "unchanged", or why a label is left ("not ours: ...").
struct LabelOutcome {
    bool changed = false;
    std::vector<std::string> foreign;  // keys that were to be removed and are not ours
    std::string resource_version;
};
kube_client::Outcome<LabelOutcome> change_labels(kube_client::Api& api, const ClusterOptions& words,
                                                 const std::string& node,
                                                 const LabelChange& change);

void add_node_list(command_line::Command& node, Context& context);
void add_node_show(command_line::Command& node, Context& context);
void add_node_label(command_line::Command& node, Context& context);
void add_node_config(command_line::Command& node, Context& context);

}  // namespace aliquot::cli
