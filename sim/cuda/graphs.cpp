// SPDX-License-Identifier: Apache-2.0
// Entry points about graphs as a whole: making, running and destroying them.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "sim/cuda/capture.h"
#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/graph_exec.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/two_streams.h"

using namespace aliquot::sim;

namespace {

constexpr int kInstantiated = 0;
constexpr int kInstantiationFailed = 1;
constexpr std::uint64_t kKnownGraphFlags = 0xf;
constexpr std::uint64_t kUpload = 2;

CUresult instantiate_for(CUgraphExec* exec, CUgraph graph, std::uint64_t flags) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (exec == nullptr || !valid(graph)) return CUDA_ERROR_INVALID_VALUE;
    if ((flags & ~kKnownGraphFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    const Instantiated made = instantiate(*graph, flags);
    if (made.result != CUDA_SUCCESS) return made.result;
    if ((flags & kUpload) != 0) {
        if (const auto uploaded = upload_graph(*made.exec); uploaded != CUDA_SUCCESS) {
            destroy_exec(*made.exec);
            return uploaded;
        }
    }
    *exec = made.exec;
    return CUDA_SUCCESS;
}

CUresult instantiate_with_log(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                              std::size_t log_bytes) {
    if (error_node != nullptr) *error_node = nullptr;
    if (log != nullptr && log_bytes > 0) *log = '\0';
    return instantiate_for(exec, graph, 0);
}

CUresult instantiate_with_parameters(CUgraphExec* exec, CUgraph graph,
                                     CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = instantiate_for(exec, graph, parameters->flags);
    parameters->hErrNode_out = nullptr;
    parameters->result_out = result == CUDA_SUCCESS ? kInstantiated : kInstantiationFailed;
    return result;
}

/// A graph launched into a stream that captures becomes part of what is captured.
CUresult capture_launch(const CUgraphExec_st& exec, CUstream_st& stream) {
    for (const CUgraphNode_st& step : exec.steps) {
        CUgraphNode_st* const node = capture_node(stream, step.type);
        if (node == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        node->launch = step.launch;
        node->effect = step.effect;
        node->host_call = step.host_call;
        node->host_data = step.host_data;
        node->address = step.address;
        node->bytes = step.bytes;
        if (step.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) hold_allocation(*exec.device, step.address);
    }
    return CUDA_SUCCESS;
}

CUresult launch(CUgraphExec exec, CUstream handle, bool own_stream) {
    const Current current = current_context();
    if (!current) return current.result;
    if (!valid(exec)) return CUDA_ERROR_INVALID_VALUE;
    CUstream_st* const stream = stream_of(current.context, handle, own_stream);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture.load() != nullptr) return capture_launch(*exec, *stream);
    if (const auto barred = barred_in_legacy(*stream); barred != CUDA_SUCCESS) return barred;
    return launch_graph(*exec, *stream);
}

CUresult upload(CUgraphExec exec, CUstream handle, bool own_stream) {
    const Current current = current_context();
    if (!current) return current.result;
    if (!valid(exec)) return CUDA_ERROR_INVALID_VALUE;
    if (stream_of(current.context, handle, own_stream) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return upload_graph(*exec);
}

CUgraph_st* clone(const CUgraph_st& graph) {
    CUgraph_st* const copy = make_graph();
    std::map<CUgraphNode, CUgraphNode> meant;
    for (CUgraphNode_st* const node : graph.nodes) {
        std::vector<CUgraphNode> before;
        for (const CUgraphNode dependency : node->dependencies) {
            const auto found = meant.find(dependency);
            if (found != meant.end()) before.push_back(found->second);
        }
        CUgraphNode_st* const made = add_node(*copy, node->type, {});
        *made = *node;
        made->graph = copy;
        made->dependencies = std::move(before);
        if (node->child != nullptr) made->child = clone(*node->child);
        if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
            hold_allocation(*Driver::get().device_of(node->address), node->address);
        }
        meant[node] = made;
    }
    return copy;
}

/// Takes the content of a graph of the same shape over.
CUresult update(CUgraphExec_st& exec, const CUgraph_st& graph) {
    const Instantiated fresh = instantiate(graph, exec.flags);
    if (fresh.result != CUDA_SUCCESS) return fresh.result;
    bool same = fresh.exec->steps.size() == exec.steps.size();
    for (std::size_t i = 0; same && i < exec.steps.size(); ++i) {
        const int type = exec.steps[i].type;
        same = fresh.exec->steps[i].type == type && type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
               type != CU_GRAPH_NODE_TYPE_MEM_FREE;
    }
    if (same) {
        exec.steps = fresh.exec->steps;
        exec.sources = fresh.exec->sources;
    }
    destroy_exec(*fresh.exec);
    return same ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

}  // namespace

extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *graph = make_graph();
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(graph) || graph->is_child) return CUDA_ERROR_INVALID_VALUE;
    destroy_graph(*graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph* copy, CUgraph original) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (copy == nullptr || !valid(original)) return CUDA_ERROR_INVALID_VALUE;
    *copy = clone(*original);
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* errorNode, char* log,
                            size_t logSize) {
    called(__func__);
    return instantiate_with_log(exec, graph, errorNode, log, logSize);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* errorNode, char* log,
                               size_t logSize) {
    called(__func__);
    return instantiate_with_log(exec, graph, errorNode, log, logSize);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
    called(__func__);
    return instantiate_for(exec, graph, flags);
}

TWO_STREAMS(cuGraphInstantiateWithParams, _ptsz,
            (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params),
            own_stream ? instantiate_with_parameters(exec, graph, params)
                       : instantiate_with_parameters(exec, graph, params))
TWO_STREAMS(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream),
            launch(exec, stream, own_stream))
TWO_STREAMS(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream stream),
            upload(exec, stream, own_stream))

CUresult cuGraphExecDestroy(CUgraphExec exec) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(exec)) return CUDA_ERROR_INVALID_VALUE;
    destroy_exec(*exec);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(exec) || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* errorNode, int* outcome) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(exec) || !valid(graph)) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = update(*exec, *graph);
    if (errorNode != nullptr) *errorNode = nullptr;
    if (outcome != nullptr) *outcome = result == CUDA_SUCCESS ? 0 : 1;
    return result;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(exec) || !valid(graph)) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = update(*exec, *graph);
    if (info != nullptr) *info = {result == CUDA_SUCCESS ? 0 : 1, nullptr, nullptr};
    return result;
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
    called(__func__);
    const Wanted found = wanted(device);
    if (found.device == nullptr) return found.result;
    trim_graph_memory(*found.device);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute,
                                      void* value) {
    called(__func__);
    const Wanted found = wanted(ordinal);
    if (found.device == nullptr) return found.result;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device& device = *found.device;
    (void)device.queue.reached(device.queue.end());  // what was freed by now is freed
    const std::lock_guard lock(device.mutex);
    cuuint64_t bytes = 0;
    switch (attribute) {
        case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
            bytes = device.graph_used_bytes;
            break;
        case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
            bytes = device.graph_used_high_bytes;
            break;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
            bytes = device.graph_reserved_bytes;
            break;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
            bytes = device.graph_reserved_high_bytes;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    std::memcpy(value, &bytes, sizeof bytes);
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute,
                                      void* value) {
    called(__func__);
    const Wanted found = wanted(ordinal);
    if (found.device == nullptr) return found.result;
    cuuint64_t bytes = 1;
    if (value != nullptr) std::memcpy(&bytes, value, sizeof bytes);
    if (bytes != 0) return CUDA_ERROR_INVALID_VALUE;  // the peaks can be begun anew, no more
    const std::lock_guard lock(found.device->mutex);
    switch (attribute) {
        case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
            found.device->graph_used_high_bytes = found.device->graph_used_bytes;
            return CUDA_SUCCESS;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
            found.device->graph_reserved_high_bytes = found.device->graph_reserved_bytes;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

}  // extern "C"
