// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "abi/cuda.h"
#include "sim/cuda/kernel.h"
#include "sim/cuda/stream.h"

namespace aliquot::sim {
struct Device;
}

/// One step of a graph.
struct CUgraphNode_st {
    static constexpr std::uint64_t kMagic = 0x65'64'6f'6e'75'63'00'00;
    std::uint64_t magic = 0;
    CUgraph graph = nullptr;
    int type = CU_GRAPH_NODE_TYPE_EMPTY;
    bool enabled = true;
    std::vector<CUgraphNode> dependencies;
    aliquot::sim::Launch launch;    // of a kernel node
    std::vector<void*> parameters;  // into launch.arguments, as the program gets them back
    std::function<void()> effect;   // of a copy or set node
    void (*host_call)(void*) = nullptr;
    void* host_data = nullptr;
    std::uint64_t address = 0;  // of an allocation or what is freed
    std::uint64_t bytes = 0;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc{};
    CUgraph child = nullptr;
    CUevent event = nullptr;
};

struct CUgraph_st {
    static constexpr std::uint64_t kMagic = 0x68'70'61'72'67'75'63'00;
    std::uint64_t magic = 0;
    std::vector<CUgraphNode> nodes;  // in the order they were added
    bool is_child = false;
};

/// A graph that can be launched: its nodes, copied, each after those it depends on.
struct CUgraphExec_st {
    static constexpr std::uint64_t kMagic = 0x63'65'78'65'67'75'63'00;
    std::uint64_t magic = 0;
    std::vector<CUgraphNode_st> steps;
    std::vector<CUgraphNode> sources;  // by step: the node it was made from
    std::uint64_t flags = 0;
    aliquot::sim::Device* device = nullptr;
    std::uint64_t memory_bytes = 0;  // of its allocations
    std::uint64_t backed_bytes = 0;  // paid for since the first launch
    std::uint64_t last_position = 0;
};

namespace aliquot::sim {

/// Adds a node after others.
CUgraphNode_st* add_node(CUgraph_st& graph, int type, std::vector<CUgraphNode> dependencies);
CUgraph_st* make_graph();
void destroy_graph(CUgraph_st& graph);
/// Takes address space for an allocation node; it is paid for when its graph runs.
CUresult place_allocation(CUgraphNode_st& node, Device& device, std::uint64_t bytes);

/// Its address space stays taken while a graph that could run uses it.
void hold_allocation(Device& device, std::uint64_t address);
void drop_allocation(Device& device, std::uint64_t address);

/// What a capturing stream does instead of running.
CUresult capture_kernel(CUstream_st& stream, Launch launch);
CUresult capture_effect(CUstream_st& stream, int type, std::function<void()> effect);
CUresult capture_host_call(CUstream_st& stream, void (*function)(void*), void* data);
CUresult capture_event(CUstream_st& stream, CUevent_st& event);
CUresult capture_wait(CUstream_st& stream, CUevent_st& event);
/// The node of an allocation or free; nullptr: the capture is over.
CUgraphNode_st* capture_node(CUstream_st& stream, int type);

}  // namespace aliquot::sim
