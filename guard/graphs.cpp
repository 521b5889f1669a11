// SPDX-License-Identifier: Apache-2.0
// Entry points about graphs: what makes them, copies them, and makes them ready to run.
#include "guard/graphs.h"

#include "guard/exports.h"
#include "guard/graph_memory.h"
#include "guard/memory.h"
#include "guard/share.h"

namespace aliquot::guard {
namespace {

constexpr unsigned long long kUpload = 2;  // CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD

template <class Call>
CUresult instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags, Call call) {
    const bool ours = guarded();
    const Inside inside;
    if (!ours || !inside || exec == nullptr || graph == nullptr) return call();
    const GraphDemand demand = demand_of(graph);
    const bool backed = (flags & kUpload) != 0;
    if (!begin_exec(demand, backed)) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = call();
    if (result == CUDA_SUCCESS) take_exec(*exec);  // of one that had this address before
    end_exec(*exec, demand, backed, result == CUDA_SUCCESS);
    return result;
}

/// The executable graph does what `graph` says from now on.
template <class Call>
CUresult update(CUgraphExec exec, CUgraph graph, Call call) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = call();
    if (ours && inside && result == CUDA_SUCCESS) end_exec(exec, demand_of(graph), false, true);
    return result;
}

/// A node was added: an allocation, or a graph that may have some.
void note_node(CUgraph graph, const CUgraphNodeParams& params) {
    if (params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        note_graph_node(graph, params.alloc.bytesize, params.alloc.poolProps.location);
    if (params.type == CU_GRAPH_NODE_TYPE_GRAPH)
        note_graph_part(graph, *reinterpret_cast<const CUgraph*>(&params.alloc));
}

template <class Call>
CUresult upload(CUgraphExec exec, Call call) {
    const bool ours = guarded();
    const Inside inside;
    if (!ours || !inside) return call();
    if (!begin_graph(exec)) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = call();
    end_graph(exec, result == CUDA_SUCCESS);
    return result;
}

}  // namespace
}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT(cuGraphAddMemAllocNode)
CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result =
        g_driver.cuGraphAddMemAllocNode(node, graph, dependencies, count, params);
    if (ours && inside && result == CUDA_SUCCESS)
        note_graph_node(graph, params->bytesize, params->poolProps.location);
    return result;
}

GUARD_EXPORT(cuGraphAddChildGraphNode)
CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, CUgraph child) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result =
        g_driver.cuGraphAddChildGraphNode(node, graph, dependencies, count, child);
    if (ours && inside && result == CUDA_SUCCESS) note_graph_part(graph, child);
    return result;
}

GUARD_EXPORT(cuGraphClone) CUresult cuGraphClone(CUgraph* copy, CUgraph original) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = g_driver.cuGraphClone(copy, original);
    if (ours && inside && result == CUDA_SUCCESS) {
        forget_graph(*copy);
        note_graph_part(*copy, original);
    }
    return result;
}

GUARD_EXPORT(cuGraphAddNode)
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        size_t count, CUgraphNodeParams* params) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = g_driver.cuGraphAddNode(node, graph, dependencies, count, params);
    if (ours && inside && result == CUDA_SUCCESS) note_node(graph, *params);
    return result;
}

GUARD_EXPORT(cuGraphAddNode_v2)
CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* params) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result =
        g_driver.cuGraphAddNode_v2(node, graph, dependencies, edges, count, params);
    if (ours && inside && result == CUDA_SUCCESS) note_node(graph, *params);
    return result;
}

GUARD_EXPORT(cuGraphInstantiate)
CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* errorNode, char* log,
                            size_t logSize) {
    return instantiate(exec, graph, 0, [&] {
        return g_driver.cuGraphInstantiate(exec, graph, errorNode, log, logSize);
    });
}

GUARD_EXPORT(cuGraphInstantiate_v2)
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* errorNode, char* log,
                               size_t logSize) {
    return instantiate(exec, graph, 0, [&] {
        return g_driver.cuGraphInstantiate_v2(exec, graph, errorNode, log, logSize);
    });
}

GUARD_EXPORT(cuGraphInstantiateWithFlags)
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
    return instantiate(exec, graph, flags,
                       [&] { return g_driver.cuGraphInstantiateWithFlags(exec, graph, flags); });
}

GUARD_EXPORT(cuGraphInstantiateWithParams)
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
    return instantiate(exec, graph, params == nullptr ? 0 : params->flags,
                       [&] { return g_driver.cuGraphInstantiateWithParams(exec, graph, params); });
}

GUARD_EXPORT(cuGraphInstantiateWithParams_ptsz)
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
    return instantiate(exec, graph, params == nullptr ? 0 : params->flags, [&] {
        return g_driver.cuGraphInstantiateWithParams_ptsz(exec, graph, params);
    });
}

GUARD_EXPORT(cuGraphExecUpdate)
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* errorNode, int* outcome) {
    return update(exec, graph,
                  [&] { return g_driver.cuGraphExecUpdate(exec, graph, errorNode, outcome); });
}

GUARD_EXPORT(cuGraphExecUpdate_v2)
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
    return update(exec, graph, [&] { return g_driver.cuGraphExecUpdate_v2(exec, graph, info); });
}

GUARD_EXPORT(cuGraphUpload) CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
    return upload(exec, [&] { return g_driver.cuGraphUpload(exec, stream); });
}

GUARD_EXPORT(cuGraphUpload_ptsz) CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream) {
    return upload(exec, [&] { return g_driver.cuGraphUpload_ptsz(exec, stream); });
}

GUARD_EXPORT(cuGraphExecDestroy) CUresult cuGraphExecDestroy(CUgraphExec exec) {
    const bool ours = guarded();
    const Inside inside;
    if (!ours || !inside || !has_graph_memory()) return g_driver.cuGraphExecDestroy(exec);
    const GraphDemand demand = take_exec(exec);
    const CUresult result = g_driver.cuGraphExecDestroy(exec);
    if (result == CUDA_SUCCESS)
        settle_graph_memory();
    else
        end_exec(exec, demand, false, true);
    return result;
}

GUARD_EXPORT(cuGraphDestroy) CUresult cuGraphDestroy(CUgraph graph) {
    const bool ours = guarded();
    const Inside inside;
    // First: the driver may give the same handle to another thread at once.
    if (ours && inside && has_graph_memory()) forget_graph(graph);
    return g_driver.cuGraphDestroy(graph);
}

GUARD_EXPORT(cuDeviceGraphMemTrim) CUresult cuDeviceGraphMemTrim(CUdevice device) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = g_driver.cuDeviceGraphMemTrim(device);
    if (ours && inside && result == CUDA_SUCCESS) {
        note_graph_trim();
        settle_graph_memory();
    }
    return result;
}

// ---- capture ----------------------------------------------------------------------------------

GUARD_EXPORT(cuStreamBeginCapture) CUresult cuStreamBeginCapture(CUstream stream) {
    if (guarded()) before_wait();  // its work so far ends here
    const CUresult result = g_driver.cuStreamBeginCapture(stream);
    if (result == CUDA_SUCCESS) g_captures.fetch_add(1);
    return result;
}

GUARD_EXPORT(cuStreamBeginCapture_ptsz) CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
    if (guarded()) before_wait();  // its work so far ends here
    const CUresult result = g_driver.cuStreamBeginCapture_ptsz(stream);
    if (result == CUDA_SUCCESS) g_captures.fetch_add(1);
    return result;
}

GUARD_EXPORT(cuStreamBeginCapture_v2)
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    if (guarded()) before_wait();  // its work so far ends here
    const CUresult result = g_driver.cuStreamBeginCapture_v2(stream, mode);
    if (result == CUDA_SUCCESS) g_captures.fetch_add(1);
    return result;
}

GUARD_EXPORT(cuStreamBeginCapture_v2_ptsz)
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
    if (guarded()) before_wait();  // its work so far ends here
    const CUresult result = g_driver.cuStreamBeginCapture_v2_ptsz(stream, mode);
    if (result == CUDA_SUCCESS) g_captures.fetch_add(1);
    return result;
}

GUARD_EXPORT(cuStreamBeginCaptureToGraph)
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                     const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                                     size_t count, CUstreamCaptureMode mode) {
    if (guarded()) before_wait();  // its work so far ends here
    const CUresult result =
        g_driver.cuStreamBeginCaptureToGraph(stream, graph, dependencies, edges, count, mode);
    if (result == CUDA_SUCCESS) g_captures.fetch_add(1);
    return result;
}

GUARD_EXPORT(cuStreamBeginCaptureToGraph_ptsz)
CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph,
                                          const CUgraphNode* dependencies,
                                          const CUgraphEdgeData* edges, size_t count,
                                          CUstreamCaptureMode mode) {
    if (guarded()) before_wait();  // its work so far ends here
    const CUresult result =
        g_driver.cuStreamBeginCaptureToGraph_ptsz(stream, graph, dependencies, edges, count, mode);
    if (result == CUDA_SUCCESS) g_captures.fetch_add(1);
    return result;
}

namespace {

/// The capture has ended, also when it was spoilt: what it allocates belongs to the graph.
CUresult end_capture(CUstream stream, const CUgraph* graph, CUresult result) {
    const bool over = result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                      result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    std::uint32_t captures = g_captures.load();
    while (over && captures != 0 && !g_captures.compare_exchange_weak(captures, captures - 1)) {
    }
    const bool made = result == CUDA_SUCCESS && graph != nullptr;
    if (has_graph_memory()) end_captured_memory(stream, made ? *graph : nullptr);
    return result;
}

}  // namespace

GUARD_EXPORT(cuStreamEndCapture) CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    guarded();
    return end_capture(stream, graph, g_driver.cuStreamEndCapture(stream, graph));
}

GUARD_EXPORT(cuStreamEndCapture_ptsz)
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
    guarded();
    return end_capture(stream, graph, g_driver.cuStreamEndCapture_ptsz(stream, graph));
}
