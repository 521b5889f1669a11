// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "cli/cluster/node_command.h"
#include "cli/rows.h"

namespace aliquot::cli {

/// What was read of a cluster at one moment.
struct NodePicture {
    ClusterNodes nodes;
    Holders holders;
    std::string holders_problem;  // why they are not known
    std::string claims_problem;   // why it is not known what claims have
};

/// Says on the standard error what is not known, and why.
void tell_problems(Context& context, const NodePicture& picture);

/// How many devices pods hold.
std::uint64_t held(const NodePicture& picture, const std::string& node,
                   const std::string& resource);

/// Of one driver's devices on a node.
struct ClaimCount {
    std::size_t usable = 0;
    std::size_t held = 0;  // devices of which a claim has some
    std::size_t bad = 0;   // published, and no claim gets it
    std::set<std::string> claims;
    bool shared = false;  // several claims may have parts
};
std::map<std::string, ClaimCount> count_claims(const node::GpuNode& node);

// What stands in one cell.
/// "3Gi, 25 % of gpu-0000-65-00-0 by claim train"; without its namespace, which is the pod's.
std::string claimed_text(const node::Holder::Claimed& claimed);
/// "memory 3839MiB"; a resource with several kinds of devices has them one after the other.
std::string mechanism_text(const node::GpuNode& node, const std::string& resource);
std::string config_text(const node::GpuNode& node);
std::string mig_text(const node::GpuNode& node);
std::string health_text(const node::GpuNode& node);
std::string taints_text(const node::GpuNode& node);
std::string status_text(const node::GpuNode& node);

/// The list's table.
Row node_heading(bool wide);
Row node_row(const NodePicture& picture, const node::GpuNode& node, bool wide);

/// Prints one node, or {"nodes":[...]} of all.
/// format     "json" or "yaml"
void print_node(Context& context, const std::string& format, const NodePicture& picture,
                const node::GpuNode& node);
void print_nodes(Context& context, const std::string& format, const NodePicture& picture);

}  // namespace aliquot::cli
