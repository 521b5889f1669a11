// SPDX-License-Identifier: Apache-2.0
#include "guard/graphs.h"

#include "guard/exports.h"
#include "guard/memory.h"
#include "guard/pools.h"
#include "guard/share.h"

namespace aliquot::guard {
namespace {

constinit Records g_captured;                 // by stream: what its capture allocates
constinit Records g_graphs;                   // by graph or executable graph
std::atomic<std::uint32_t> g_with_memory{0};  // bit by place: graphs allocate there
std::atomic<std::uint64_t> g_charged[abi::kRegionDevices];
std::atomic<CUdevice> g_devices[abi::kRegionDevices];  // ordinal of a place in g_with_memory

template <class Handle>
std::uint64_t key_of(Handle handle) {
    return reinterpret_cast<std::uintptr_t>(handle);
}

void note_place(unsigned place) {
    CUdevice device = 0;
    if (g_driver.cuCtxGetDevice(&device) == CUDA_SUCCESS) g_devices[place].store(device);
    g_with_memory.fetch_or(1U << place);
}

void add(Records& records, std::uint64_t key, std::uint64_t bytes, unsigned place) {
    if (records.update(key, [&](Record& record) { record.bytes += bytes; })) return;
    Record record;
    record.kind = Kind::kGraph;
    record.bytes = bytes;
    record.place = static_cast<std::uint8_t>(place);
    records.put(key, record);
}

void charge(unsigned place, std::uint64_t bytes) {
    const std::uint64_t before = g_charged[place].exchange(bytes);
    if (bytes > before)
        g_ledger.force(place, bytes - before, Part::kTracked);
    else if (bytes < before)
        g_ledger.shrink(place, before - bytes, Part::kTracked);
}

/// Memory of this many bytes is a node of `graph` now.
void note_node(CUgraph graph, std::uint64_t bytes, const CUmemLocation& location) {
    const unsigned place = location.type == CU_MEM_LOCATION_TYPE_DEVICE
                               ? place_of_device(location.id)
                               : current_place();
    if (place == kNone) return;
    note_place(place);
    g_devices[place].store(location.id);
    add(g_graphs, key_of(graph), charged_size(bytes), place);
}

template <class Call>
CUresult instantiate(CUgraphExec* exec, CUgraph graph, Call call) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = call();
    if (!ours || !inside || result != CUDA_SUCCESS || exec == nullptr) return result;
    Record record;
    if (g_graphs.look(key_of(graph), record)) {
        record.kind = Kind::kGraphExec;
        record.extra = 0;
        g_graphs.put(key_of(*exec), record);
    } else {
        g_graphs.take(key_of(*exec), record);  // of one that had this address before
    }
    return result;
}

/// Takes the mark from what lies behind this pointer, and looks how much is held now.
template <class Call>
CUresult destroy(std::uint64_t key, Call call) {
    const bool ours = guarded();
    const Inside inside;
    Record record;
    const bool known = ours && inside && g_graphs.take(key, record);
    const CUresult result = call();
    if (!known) return result;
    if (result != CUDA_SUCCESS)
        g_graphs.put(key, record);
    else if (record.kind == Kind::kGraphExec)
        settle_graph_memory();
    return result;
}

}  // namespace

void note_captured_memory(CUstream stream, std::uint64_t bytes, unsigned place) {
    note_place(place);
    add(g_captured, key_of(stream), charged_size(bytes), place);
}

bool has_graph_memory() { return g_with_memory.load(std::memory_order_relaxed) != 0; }

void settle_graph_memory() {
    for (unsigned place = 0; place < abi::kRegionDevices; ++place) {
        if ((g_with_memory.load(std::memory_order_relaxed) & 1U << place) == 0) continue;
        cuuint64_t reserved = 0;
        if (g_driver.cuDeviceGetGraphMemAttribute(g_devices[place].load(),
                                                  CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
                                                  &reserved) == CUDA_SUCCESS)
            charge(place, reserved);
    }
}

bool begin_graph(CUgraphExec exec) {
    Record record;
    if (!has_graph_memory() || !g_graphs.look(key_of(exec), record)) return true;
    // One that has run keeps its memory until it is trimmed.
    if (record.extra != 0 && g_charged[record.place].load() >= record.bytes) return true;
    if (!reserve(record.place, record.bytes)) return false;
    g_charged[record.place].fetch_add(record.bytes);
    return true;
}

void end_graph(CUgraphExec exec) {
    if (!has_graph_memory()) return;
    g_graphs.update(key_of(exec), [](Record& record) { record.extra = 1; });
    settle_graph_memory();
}

void forget_graphs() {
    g_captured.forget();
    g_graphs.forget();
    g_with_memory.store(0);
    for (auto& charged : g_charged) charged.store(0);
}

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
        note_node(graph, params->bytesize, params->poolProps.location);
    return result;
}

GUARD_EXPORT(cuGraphAddNode)
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        size_t count, CUgraphNodeParams* params) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = g_driver.cuGraphAddNode(node, graph, dependencies, count, params);
    if (ours && inside && result == CUDA_SUCCESS && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        note_node(graph, params->alloc.bytesize, params->alloc.poolProps.location);
    return result;
}

GUARD_EXPORT(cuGraphAddNode_v2)
CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* params) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result =
        g_driver.cuGraphAddNode_v2(node, graph, dependencies, edges, count, params);
    if (ours && inside && result == CUDA_SUCCESS && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        note_node(graph, params->alloc.bytesize, params->alloc.poolProps.location);
    return result;
}

GUARD_EXPORT(cuGraphInstantiate)
CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* errorNode, char* log,
                            size_t logSize) {
    return instantiate(exec, graph, [&] {
        return g_driver.cuGraphInstantiate(exec, graph, errorNode, log, logSize);
    });
}

GUARD_EXPORT(cuGraphInstantiate_v2)
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* errorNode, char* log,
                               size_t logSize) {
    return instantiate(exec, graph, [&] {
        return g_driver.cuGraphInstantiate_v2(exec, graph, errorNode, log, logSize);
    });
}

GUARD_EXPORT(cuGraphInstantiateWithFlags)
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
    return instantiate(exec, graph,
                       [&] { return g_driver.cuGraphInstantiateWithFlags(exec, graph, flags); });
}

GUARD_EXPORT(cuGraphInstantiateWithParams)
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
    return instantiate(exec, graph,
                       [&] { return g_driver.cuGraphInstantiateWithParams(exec, graph, params); });
}

GUARD_EXPORT(cuGraphInstantiateWithParams_ptsz)
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
    return instantiate(exec, graph, [&] {
        return g_driver.cuGraphInstantiateWithParams_ptsz(exec, graph, params);
    });
}

GUARD_EXPORT(cuGraphExecDestroy) CUresult cuGraphExecDestroy(CUgraphExec exec) {
    return destroy(key_of(exec), [&] { return g_driver.cuGraphExecDestroy(exec); });
}

GUARD_EXPORT(cuGraphDestroy) CUresult cuGraphDestroy(CUgraph graph) {
    return destroy(key_of(graph), [&] { return g_driver.cuGraphDestroy(graph); });
}

GUARD_EXPORT(cuDeviceGraphMemTrim) CUresult cuDeviceGraphMemTrim(CUdevice device) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = g_driver.cuDeviceGraphMemTrim(device);
    if (ours && inside && result == CUDA_SUCCESS) settle_graph_memory();
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

namespace {

/// The capture has ended, also when it was spoilt: what it allocates belongs to the graph.
CUresult end_capture(CUstream stream, const CUgraph* graph, CUresult result) {
    const bool over = result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                      result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    std::uint32_t captures = g_captures.load();
    while (over && captures != 0 && !g_captures.compare_exchange_weak(captures, captures - 1)) {
    }
    Record record;
    const bool known = g_captured.take(key_of(stream), record);
    if (result != CUDA_SUCCESS || graph == nullptr) return result;
    if (known)
        g_graphs.put(key_of(*graph), record);
    else
        g_graphs.take(key_of(*graph), record);
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
