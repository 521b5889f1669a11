// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "placement/cluster.h"

namespace aliquot::sim::trace {

/// The nodes of a cluster, in file order: the row of a node is its index. Ranks are not set.
struct NodeList {
    std::vector<placement::NodeSpec> nodes;
    std::vector<placement::MigGeometry> geometries;  // of the models that have nodes in MIG mode
    std::vector<std::string> models;                 // of nodes with GPUs, sorted

    [[nodiscard]] std::int64_t capacity_milli() const;
};

/// Reads a node list.
///
/// columns  sn, cpu_milli, memory_mib, gpu, model; optional: gpu_memory_mib (of one GPU), mig (1: all
///          GPUs of the node are in MIG mode), price_per_hour, idle_watts, labels and taints (k=v;k=v)
/// name     of the file, for messages
/// errors   kInvalidInput: the first thing that is wrong, as "file:line:column: what, expected";
///          nothing is kept of a list with an error
/// source   the columns of Alibaba's openb node list
Result<NodeList> read_node_list(std::string name, std::string_view text);

/// Sets the GPU memory of nodes that do not say it, where the catalogue knows their model.
void fill_gpu_memory(NodeList& list);

}  // namespace aliquot::sim::trace
