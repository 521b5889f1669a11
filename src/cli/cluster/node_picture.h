// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cli/cluster/node_command.h"
#include "cli/rows.h"

namespace aliquot::cli {

/// What was read of a cluster at one moment.
struct NodePicture {
    ClusterNodes nodes;
    Holders holders;
    std::string holders_problem;  // why they are not known
};

/// How many devices pods hold.
std::uint64_t held(const NodePicture& picture, const std::string& node,
                   const std::string& resource);

// What stands in one cell.
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
