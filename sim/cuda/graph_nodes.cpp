// SPDX-License-Identifier: Apache-2.0
// Entry points that add nodes to graphs.
#include <algorithm>
#include <utility>

#include "sim/cuda/context.h"
#include "sim/cuda/copy.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/graph_parameters.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/trace.h"

namespace aliquot::sim {

Described describe_kernel(const CUDA_KERNEL_NODE_PARAMS& p) {
    CUfunc_st* const function = p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern);
    if (!valid(function)) return {CUDA_ERROR_INVALID_HANDLE, {}};
    Arguments arguments = read_arguments(*function, p.kernelParams, p.extra);
    if (arguments.result != CUDA_SUCCESS) return {arguments.result, {}};
    return {CUDA_SUCCESS,
            {.function = function,
             .grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
             .block = {p.blockDimX, p.blockDimY, p.blockDimZ},
             .arguments = std::move(arguments.bytes)}};
}

CUDA_KERNEL_NODE_PARAMS widened(const CUDA_KERNEL_NODE_PARAMS_v1& p) {
    return {.func = p.func,
            .gridDimX = p.gridDimX,
            .gridDimY = p.gridDimY,
            .gridDimZ = p.gridDimZ,
            .blockDimX = p.blockDimX,
            .blockDimY = p.blockDimY,
            .blockDimZ = p.blockDimZ,
            .sharedMemBytes = p.sharedMemBytes,
            .kernelParams = p.kernelParams,
            .extra = p.extra,
            .kern = nullptr,
            .ctx = nullptr};
}

Pattern pattern_of(const CUDA_MEMSET_NODE_PARAMS& p) {
    return {.address = p.dst,
            .pitch = p.pitch,
            .value = p.value,
            .element = p.elementSize,
            .width = p.width,
            .height = p.height};
}

}  // namespace aliquot::sim

using namespace aliquot::sim;

namespace {

struct Added {
    CUresult result;
    CUgraphNode_st* node;
};

Added add(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, std::size_t count, int type) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return {result, nullptr};
    if (out == nullptr || !valid(graph) || (before == nullptr && count > 0)) {
        return {CUDA_ERROR_INVALID_VALUE, nullptr};
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!valid(before[i]) || before[i]->graph != graph) {
            return {CUDA_ERROR_INVALID_VALUE, nullptr};
        }
    }
    CUgraphNode_st* const node =
        add_node(*graph, type, std::vector<CUgraphNode>(before, before + count));
    *out = node;
    return {CUDA_SUCCESS, node};
}

CUresult add_kernel(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, std::size_t count,
                    const CUDA_KERNEL_NODE_PARAMS& parameters) {
    Described described = describe_kernel(parameters);
    if (described.result != CUDA_SUCCESS) return described.result;
    const Added added = add(out, graph, before, count, CU_GRAPH_NODE_TYPE_KERNEL);
    if (added.node != nullptr) added.node->launch = std::move(described.launch);
    return added.result;
}

CUresult add_allocation(CUgraphNode* out, CUgraph graph, const CUgraphNode* before,
                        std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUmemPoolProps& props = parameters->poolProps;
    if (props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        props.location.type != CU_MEM_LOCATION_TYPE_DEVICE || parameters->bytesize == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    Device* const device = Driver::get().device(props.location.id);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const Added added = add(out, graph, before, count, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    if (added.node == nullptr) return added.result;
    const CUresult placed = place_allocation(*added.node, *device, parameters->bytesize);
    if (placed != CUDA_SUCCESS) return placed;
    parameters->dptr = added.node->address;
    added.node->alloc = *parameters;
    return CUDA_SUCCESS;
}

CUresult add_free(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, std::size_t count,
                  CUdeviceptr address) {
    if (address == 0) return CUDA_ERROR_INVALID_VALUE;
    const Added added = add(out, graph, before, count, CU_GRAPH_NODE_TYPE_MEM_FREE);
    if (added.node != nullptr) added.node->address = address;
    return added.result;
}

CUresult add_copy(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, std::size_t count,
                  const CUDA_MEMCPY3D* parameters) {
    const auto what = parameters == nullptr ? std::nullopt : copy_of(*parameters);
    if (!what) return CUDA_ERROR_INVALID_VALUE;
    const Added added = add(out, graph, before, count, CU_GRAPH_NODE_TYPE_MEMCPY);
    if (added.node != nullptr) {
        added.node->effect = [copy = *what] {
            if (check(copy) == CUDA_SUCCESS) perform(copy);
        };
    }
    return added.result;
}

CUresult add_set(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, std::size_t count,
                 const CUDA_MEMSET_NODE_PARAMS* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Pattern what = pattern_of(*parameters);
    if (what.element != 1 && what.element != 2 && what.element != 4) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Added added = add(out, graph, before, count, CU_GRAPH_NODE_TYPE_MEMSET);
    if (added.node != nullptr) {
        added.node->effect = [what] {
            if (check(what) == CUDA_SUCCESS) perform(what);
        };
    }
    return added.result;
}

CUresult add_child(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, std::size_t count,
                   CUgraph child) {
    if (!valid(child)) return CUDA_ERROR_INVALID_VALUE;
    CUgraph copy = nullptr;
    const CUresult cloned = cuGraphClone(&copy, child);
    if (cloned != CUDA_SUCCESS) return cloned;
    copy->is_child = true;
    const Added added = add(out, graph, before, count, CU_GRAPH_NODE_TYPE_GRAPH);
    if (added.node == nullptr) {
        destroy_graph(*copy);
        return added.result;
    }
    added.node->child = copy;
    return CUDA_SUCCESS;
}

CUresult add_any(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, std::size_t count,
                 CUgraphNodeParams* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const void* const inside = &parameters->kernel;
    switch (parameters->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            return add_kernel(out, graph, before, count, parameters->kernel);
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            return add_allocation(out, graph, before, count, &parameters->alloc);
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            return add_free(out, graph, before, count, *static_cast<const CUdeviceptr*>(inside));
        case CU_GRAPH_NODE_TYPE_EMPTY:
            return add(out, graph, before, count, CU_GRAPH_NODE_TYPE_EMPTY).result;
        case CU_GRAPH_NODE_TYPE_MEMCPY: {
            constexpr std::size_t kBeforeCopy = 16;  // flags and context
            return add_copy(out, graph, before, count,
                            reinterpret_cast<const CUDA_MEMCPY3D*>(
                                static_cast<const char*>(inside) + kBeforeCopy));
        }
        case CU_GRAPH_NODE_TYPE_MEMSET:
            return add_set(out, graph, before, count,
                           static_cast<const CUDA_MEMSET_NODE_PARAMS*>(inside));
        case CU_GRAPH_NODE_TYPE_HOST:
            return cuGraphAddHostNode(out, graph, before, count,
                                      static_cast<const CUDA_HOST_NODE_PARAMS*>(inside));
        case CU_GRAPH_NODE_TYPE_GRAPH:
            return add_child(out, graph, before, count, *static_cast<const CUgraph*>(inside));
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

}  // namespace

extern "C" {

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
    called(__func__);
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return add_kernel(node, graph, dependencies, count, widened(*params));
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
    called(__func__);
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return add_kernel(node, graph, dependencies, count, *params);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
    called(__func__);
    return add_allocation(node, graph, dependencies, count, params);
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr dptr) {
    called(__func__);
    return add_free(node, graph, dependencies, count, dptr);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMCPY3D* params, CUcontext) {
    called(__func__);
    return add_copy(node, graph, dependencies, count, params);
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
    called(__func__);
    return add_set(node, graph, dependencies, count, params);
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_HOST_NODE_PARAMS* params) {
    called(__func__);
    if (params == nullptr || params->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Added added = add(node, graph, dependencies, count, CU_GRAPH_NODE_TYPE_HOST);
    if (added.node != nullptr) {
        added.node->host_call = params->fn;
        added.node->host_data = params->userData;
    }
    return added.result;
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                             size_t count) {
    called(__func__);
    return add(node, graph, dependencies, count, CU_GRAPH_NODE_TYPE_EMPTY).result;
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, CUgraph child) {
    called(__func__);
    return add_child(node, graph, dependencies, count, child);
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        size_t count, CUgraphNodeParams* params) {
    called(__func__);
    return add_any(node, graph, dependencies, count, params);
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData*, size_t count, CUgraphNodeParams* params) {
    called(__func__);
    return add_any(node, graph, dependencies, count, params);
}

}  // extern "C"
