// SPDX-License-Identifier: Apache-2.0
// Entry points that ask about the nodes of graphs, or change them.
#include <algorithm>
#include <utility>
#include <vector>

#include "sim/cuda/driver.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/graph_exec.h"
#include "sim/cuda/graph_parameters.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

constexpr std::size_t kMostArguments = 4;

CUresult check(CUgraphNode node) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    return valid(node) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Lists of two calls: how many, then which. What is left of the room is set to nullptr.
CUresult list(const std::vector<CUgraphNode>& nodes, CUgraphNode* out, std::size_t* count) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (out == nullptr) {
        *count = nodes.size();
        return CUDA_SUCCESS;
    }
    for (std::size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? nodes[i] : nullptr;
    *count = std::min(*count, nodes.size());
    return CUDA_SUCCESS;
}

std::vector<CUgraphNode> followers(const CUgraphNode_st& node) {
    std::vector<CUgraphNode> found;
    for (CUgraphNode_st* const other : node.graph->nodes) {
        const auto& before = other->dependencies;
        if (std::ranges::find(before, &node) != before.end()) found.push_back(other);
    }
    return found;
}

CUresult list_edges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(graph) || count == nullptr || (from == nullptr) != (to == nullptr)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::size_t edges = 0;
    for (CUgraphNode_st* const node : graph->nodes) {
        for (CUgraphNode_st* const before : node->dependencies) {
            if (from != nullptr && edges < *count) {
                from[edges] = before;
                to[edges] = node;
            }
            ++edges;
        }
    }
    *count = from == nullptr ? edges : std::min(edges, *count);
    return CUDA_SUCCESS;
}

CUresult change_edges(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                      std::size_t count, bool add) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(graph) || (count > 0 && (from == nullptr || to == nullptr))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const bool ours =
            valid(from[i]) && valid(to[i]) && from[i]->graph == graph && to[i]->graph == graph;
        if (!ours) return CUDA_ERROR_INVALID_VALUE;
        const auto& before = to[i]->dependencies;
        if ((std::ranges::find(before, from[i]) != before.end()) == add) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        auto& before = to[i]->dependencies;
        if (add) {
            before.push_back(from[i]);
        } else {
            std::erase(before, from[i]);
        }
    }
    return CUDA_SUCCESS;
}

/// As the program gave them; the addresses of the arguments are those of our copies.
CUresult tell_kernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
    if (const auto checked = check(node); checked != CUDA_SUCCESS) return checked;
    if (parameters == nullptr || node->type != CU_GRAPH_NODE_TYPE_KERNEL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    node->parameters.clear();
    for (std::size_t i = 0;
         i < kMostArguments && i * sizeof(CUdeviceptr) < node->launch.arguments.size(); ++i) {
        node->parameters.push_back(node->launch.arguments.data() + i * sizeof(CUdeviceptr));
    }
    const Launch& launch = node->launch;
    *parameters = {.func = launch.function,
                   .gridDimX = launch.grid[0],
                   .gridDimY = launch.grid[1],
                   .gridDimZ = launch.grid[2],
                   .blockDimX = launch.block[0],
                   .blockDimY = launch.block[1],
                   .blockDimZ = launch.block[2],
                   .sharedMemBytes = 0,
                   .kernelParams = node->parameters.empty() ? nullptr : node->parameters.data(),
                   .extra = nullptr,
                   .kern = nullptr,
                   .ctx = nullptr};
    return CUDA_SUCCESS;
}

CUresult change_kernel(CUgraphNode_st& node, const CUDA_KERNEL_NODE_PARAMS& parameters) {
    if (node.type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
    Described described = describe_kernel(parameters);
    if (described.result == CUDA_SUCCESS) node.launch = std::move(described.launch);
    return described.result;
}

/// The step of a graph that runs which was made from a node.
CUgraphNode_st* step_of(CUgraphExec exec, CUgraphNode node) {
    if (!valid(exec) || !valid(node)) return nullptr;
    const auto found = std::ranges::find(exec->sources, node);
    if (found == exec->sources.end()) return nullptr;
    return &exec->steps[static_cast<std::size_t>(found - exec->sources.begin())];
}

}  // namespace

extern "C" {

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    return valid(graph) ? list(graph->nodes, nodes, count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(graph)) return CUDA_ERROR_INVALID_VALUE;
    std::vector<CUgraphNode> roots;
    std::ranges::copy_if(graph->nodes, std::back_inserter(roots),
                         [](CUgraphNode node) { return node->dependencies.empty(); });
    return list(roots, nodes, count);
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
    called(__func__);
    return list_edges(graph, from, to, count);
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* edges, size_t* count) {
    called(__func__);
    const CUresult result = list_edges(graph, from, to, count);
    if (result == CUDA_SUCCESS && edges != nullptr && from != nullptr) {
        std::fill_n(edges, *count, CUgraphEdgeData{});
    }
    return result;
}

CUresult cuGraphNodeGetType(CUgraphNode node, int* type) {
    called(__func__);
    if (const auto checked = check(node); checked != CUDA_SUCCESS) return checked;
    if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = node->type;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
    called(__func__);
    if (const auto checked = check(node); checked != CUDA_SUCCESS) return checked;
    return list(node->dependencies, nodes, count);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
    called(__func__);
    if (const auto checked = check(node); checked != CUDA_SUCCESS) return checked;
    return list(followers(*node), nodes, count);
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t count) {
    called(__func__);
    return change_edges(graph, from, to, count, true);
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData*, size_t count) {
    called(__func__);
    return change_edges(graph, from, to, count, true);
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
    called(__func__);
    return change_edges(graph, from, to, count, false);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData*, size_t count) {
    called(__func__);
    return change_edges(graph, from, to, count, false);
}

CUresult cuGraphDestroyNode(CUgraphNode node) {
    called(__func__);
    if (const auto checked = check(node); checked != CUDA_SUCCESS) return checked;
    // Memory that one node allocates and another frees cannot lose one of them.
    if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node->type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    for (CUgraphNode_st* const other : node->graph->nodes) std::erase(other->dependencies, node);
    std::erase(node->graph->nodes, node);
    if (node->child != nullptr) destroy_graph(*node->child);
    objects<CUgraphNode_st>().destroy(node);
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params) {
    called(__func__);
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS wide{};
    const CUresult result = tell_kernel(node, &wide);
    if (result != CUDA_SUCCESS) return result;
    *params = {.func = wide.func,
               .gridDimX = wide.gridDimX,
               .gridDimY = wide.gridDimY,
               .gridDimZ = wide.gridDimZ,
               .blockDimX = wide.blockDimX,
               .blockDimY = wide.blockDimY,
               .blockDimZ = wide.blockDimZ,
               .sharedMemBytes = wide.sharedMemBytes,
               .kernelParams = wide.kernelParams,
               .extra = wide.extra};
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
    called(__func__);
    return tell_kernel(node, params);
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
    called(__func__);
    if (const auto checked = check(node); checked != CUDA_SUCCESS) return checked;
    return params == nullptr ? CUDA_ERROR_INVALID_VALUE : change_kernel(*node, widened(*params));
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
    called(__func__);
    if (const auto checked = check(node); checked != CUDA_SUCCESS) return checked;
    return params == nullptr ? CUDA_ERROR_INVALID_VALUE : change_kernel(*node, *params);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* params) {
    called(__func__);
    CUgraphNode_st* const step = step_of(exec, node);
    if (step == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return change_kernel(*step, widened(*params));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* params) {
    called(__func__);
    CUgraphNode_st* const step = step_of(exec, node);
    if (step == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return change_kernel(*step, *params);
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
    called(__func__);
    if (const auto checked = check(node); checked != CUDA_SUCCESS) return checked;
    if (params == nullptr || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *params = node->alloc;
    return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* dptr) {
    called(__func__);
    if (const auto checked = check(node); checked != CUDA_SUCCESS) return checked;
    if (dptr == nullptr || node->type != CU_GRAPH_NODE_TYPE_MEM_FREE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *dptr = node->address;
    return CUDA_SUCCESS;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
    called(__func__);
    if (const auto checked = check(node); checked != CUDA_SUCCESS) return checked;
    if (graph == nullptr || node->child == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *graph = node->child;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int enabled) {
    called(__func__);
    CUgraphNode_st* const step = step_of(exec, node);
    if (step == nullptr) return CUDA_ERROR_INVALID_VALUE;
    step->enabled = enabled != 0;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int* enabled) {
    called(__func__);
    const CUgraphNode_st* const step = step_of(exec, node);
    if (step == nullptr || enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *enabled = step->enabled ? 1 : 0;
    return CUDA_SUCCESS;
}

}  // extern "C"
