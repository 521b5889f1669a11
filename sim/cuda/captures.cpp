// SPDX-License-Identifier: Apache-2.0
// Entry points about stream capture.
#include <cstring>
#include <utility>

#include "sim/cuda/capture.h"
#include "sim/cuda/context.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/two_streams.h"

using namespace aliquot::sim;

namespace {

struct Meant {
    CUresult result;
    CUstream_st* stream;
};

Meant meant(CUstream handle, bool own_stream) {
    const Current current = current_context();
    if (!current) return {current.result, nullptr};
    CUstream_st* const stream = stream_of(current.context, handle, own_stream);
    if (stream == nullptr) return {CUDA_ERROR_INVALID_HANDLE, nullptr};
    return {CUDA_SUCCESS, stream};
}

CUresult begin(CUstream handle, bool own_stream, CUstreamCaptureMode mode) {
    const Meant found = meant(handle, own_stream);
    return found.stream == nullptr ? found.result : begin_capture(*found.stream, mode, nullptr, {});
}

CUresult begin_into(CUstream handle, bool own_stream, CUgraph graph, const CUgraphNode* after,
                    std::size_t count, CUstreamCaptureMode mode) {
    const Meant found = meant(handle, own_stream);
    if (found.stream == nullptr) return found.result;
    if (!valid(graph) || (after == nullptr && count > 0)) return CUDA_ERROR_INVALID_VALUE;
    return begin_capture(*found.stream, mode, graph, Nodes(after, after + count));
}

CUresult end(CUstream handle, bool own_stream, CUgraph* graph) {
    const Meant found = meant(handle, own_stream);
    if (found.stream == nullptr) return found.result;
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Captured captured = end_capture(*found.stream);
    *graph = captured.graph;
    return captured.result;
}

CUresult ask(CUstream handle, bool own_stream, CUstreamCaptureStatus* status) {
    const Meant found = meant(handle, own_stream);
    if (found.stream == nullptr) return found.result;
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // Asked of the legacy stream while another one captures, the answer is an error, not a state.
    if (found.stream->legacy && found.stream->context->captures.load() > 0) {
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    *status = capture_info(*found.stream).status;
    return CUDA_SUCCESS;
}

struct InfoOut {
    CUstreamCaptureStatus* status;
    cuuint64_t* id;
    CUgraph* graph;
    const CUgraphNode** dependencies;
    const CUgraphEdgeData** edges;
    std::size_t* count;
};

CUresult tell(CUstream handle, bool own_stream, const InfoOut& out) {
    const Meant found = meant(handle, own_stream);
    if (found.stream == nullptr) return found.result;
    if (out.status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (found.stream->legacy && found.stream->context->captures.load() > 0) {
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    const CaptureInfo info = capture_info(*found.stream);
    *out.status = info.status;
    if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
    if (out.id != nullptr) *out.id = info.id;
    if (out.graph != nullptr) *out.graph = info.graph;
    if (out.dependencies != nullptr) *out.dependencies = info.dependencies;
    if (out.edges != nullptr) *out.edges = nullptr;  // no edge is of a special kind
    if (out.count != nullptr) *out.count = info.count;
    return CUDA_SUCCESS;
}

CUresult update(CUstream handle, bool own_stream, CUgraphNode* dependencies, std::size_t count,
                unsigned flags) {
    const Meant found = meant(handle, own_stream);
    if (found.stream == nullptr) return found.result;
    if (flags > 1 || (dependencies == nullptr && count > 0)) return CUDA_ERROR_INVALID_VALUE;
    return update_capture(*found.stream, Nodes(dependencies, dependencies + count), flags == 1);
}

}  // namespace

extern "C" {

TWO_STREAMS(cuStreamBeginCapture, _ptsz, (CUstream stream),
            begin(stream, own_stream, CU_STREAM_CAPTURE_MODE_GLOBAL))
TWO_STREAMS(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode),
            begin(stream, own_stream, mode))
TWO_STREAMS(cuStreamBeginCaptureToGraph, _ptsz,
            (CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
             const CUgraphEdgeData*, size_t count, CUstreamCaptureMode mode),
            begin_into(stream, own_stream, graph, dependencies, count, mode))
TWO_STREAMS(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph* graph),
            end(stream, own_stream, graph))
TWO_STREAMS(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus* status),
            ask(stream, own_stream, status))
TWO_STREAMS(cuStreamGetCaptureInfo, _ptsz,
            (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id),
            tell(stream, own_stream, {status, id, nullptr, nullptr, nullptr, nullptr}))
TWO_STREAMS(cuStreamGetCaptureInfo_v2, _ptsz,
            (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
             const CUgraphNode** dependencies, size_t* count),
            tell(stream, own_stream, {status, id, graph, dependencies, nullptr, count}))
TWO_STREAMS(cuStreamGetCaptureInfo_v3, _ptsz,
            (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
             const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count),
            tell(stream, own_stream, {status, id, graph, dependencies, edges, count}))
TWO_STREAMS(cuStreamUpdateCaptureDependencies, _ptsz,
            (CUstream stream, CUgraphNode* dependencies, size_t count, unsigned int flags),
            update(stream, own_stream, dependencies, count, flags))
TWO_STREAMS(cuStreamUpdateCaptureDependencies_v2, _ptsz,
            (CUstream stream, CUgraphNode* dependencies, const CUgraphEdgeData*, size_t count,
             unsigned int flags),
            update(stream, own_stream, dependencies, count, flags))

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
        *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::swap(*mode, thread_state.capture_mode);
    return CUDA_SUCCESS;
}

}  // extern "C"
