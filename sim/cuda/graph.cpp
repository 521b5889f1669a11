// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/graph.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"

namespace aliquot::sim {

CUgraphNode_st* add_node(CUgraph_st& graph, int type, std::vector<CUgraphNode> dependencies) {
    CUgraphNode_st* const node = objects<CUgraphNode_st>().make();
    node->graph = &graph;
    node->type = type;
    node->dependencies = std::move(dependencies);
    graph.nodes.push_back(node);
    return node;
}

CUgraph_st* make_graph() { return objects<CUgraph_st>().make(); }

void destroy_graph(CUgraph_st& graph) {
    for (CUgraphNode_st* const node : graph.nodes) {
        if (node->child != nullptr) destroy_graph(*node->child);
        if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
            if (Device* const device = Driver::get().device_of(node->address)) {
                drop_allocation(*device, node->address);
            }
        }
        objects<CUgraphNode_st>().destroy(node);
    }
    objects<CUgraph_st>().destroy(&graph);
}

CUresult place_allocation(CUgraphNode_st& node, Device& device, std::uint64_t bytes) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(device.mutex);
    node.address = device.arena.take_blocks(bytes, Use::kGraph, 0);
    if (node.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    node.bytes = (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    device.graph_addresses[node.address] = 1;
    return CUDA_SUCCESS;
}

void hold_allocation(Device& device, std::uint64_t address) {
    const std::lock_guard lock(device.mutex);
    ++device.graph_addresses[address];
}

void drop_allocation(Device& device, std::uint64_t address) {
    const std::lock_guard lock(device.mutex);
    const auto found = device.graph_addresses.find(address);
    if (found == device.graph_addresses.end() || --found->second > 0) return;
    device.graph_addresses.erase(found);
    const auto blocks = device.arena.blocks_at(address);
    if (!blocks) return;
    if (blocks->resident) {
        device.graph_used_bytes -= std::min(device.graph_used_bytes, blocks->span);
    }
    device.arena.give_blocks(address);
}

}  // namespace aliquot::sim
