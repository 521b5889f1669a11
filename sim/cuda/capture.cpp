// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/capture.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "sim/cuda/context.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/objects.h"

namespace aliquot::sim {
namespace {

struct Captures {
    std::recursive_mutex mutex;
    std::vector<Capture*> active;
    std::uint64_t next_id = 1;
};

Captures& captures() { return immortal<Captures>(); }

bool strict(const Capture& capture) {
    return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED && !capture.invalid;
}

void invalidate(Capture& capture) {
    if (capture.invalid) return;
    if (strict(capture)) --strict_captures;
    capture.invalid = true;
}

/// The legacy stream waits for these.
bool blocking(const CUstream_st& stream) { return (stream.flags & CU_STREAM_NON_BLOCKING) == 0; }

void enter(Capture& capture, CUstream_st& stream, Nodes after) {
    capture.last[&stream] = std::move(after);
    stream.capture = &capture;
    if (blocking(stream)) ++stream.context->captures;
}

void leave(CUstream_st& stream) {
    stream.capture = nullptr;
    if (blocking(stream)) --stream.context->captures;
}

/// Ends a capture; what it has recorded is the caller's business.
void close(Capture& capture) {
    Captures& all = captures();
    if (strict(capture)) --strict_captures;
    for (const auto& [stream, nodes] : capture.last) leave(*stream);
    for (CUevent_st* const event : capture.events) {
        event->capture = nullptr;
        event->recorded = false;
    }
    std::erase(all.active, &capture);
    delete &capture;
}

/// Have all streams that joined come back to the origin?
bool joined(const Capture& capture) {
    std::set<CUgraphNode> reached;
    std::vector<CUgraphNode> open = capture.last.at(capture.origin);
    while (!open.empty()) {
        const CUgraphNode node = open.back();
        open.pop_back();
        if (!reached.insert(node).second) continue;
        open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
    }
    for (const auto& [stream, nodes] : capture.last) {
        if (stream == capture.origin) continue;
        for (const CUgraphNode node : nodes) {
            if (!reached.contains(node)) return false;
        }
    }
    return true;
}

}  // namespace

std::atomic<int> strict_captures{0};

CUresult barred_by_capture(CUstream_st& stream) {
    if (stream.capture.load() == nullptr) {
        return stream.legacy ? barred_in_legacy(stream) : CUDA_SUCCESS;
    }
    const std::lock_guard lock(captures().mutex);
    Capture* const capture = stream.capture;
    if (capture == nullptr) return CUDA_SUCCESS;
    invalidate(*capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult barred_by_capture(CUevent_st& event) {
    if (event.capture == nullptr) return barred_here();
    const std::lock_guard lock(captures().mutex);
    if (event.capture != nullptr) invalidate(*event.capture);
    return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult barred_in_legacy(const CUstream_st& stream) {
    if (!stream.legacy || stream.context->captures.load() == 0) return CUDA_SUCCESS;
    const std::lock_guard lock(captures().mutex);
    for (Capture* const capture : captures().active) {
        if (capture->origin->context == stream.context) invalidate(*capture);
    }
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult barred_in_context(CUcontext context) {
    const std::lock_guard lock(captures().mutex);
    bool barred = false;
    for (Capture* const capture : captures().active) {
        if (capture->origin->context != context) continue;
        invalidate(*capture);
        barred = true;
    }
    return barred ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult barred_here_slowly() {
    const CUstreamCaptureMode mine = thread_state.capture_mode;
    if (mine == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
    const std::lock_guard lock(captures().mutex);
    bool barred = false;
    for (Capture* const capture : captures().active) {
        if (!strict(*capture)) continue;
        const bool own = capture->thread == std::this_thread::get_id();
        const bool everywhere =
            capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && mine == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!own && !everywhere) continue;
        invalidate(*capture);
        barred = true;
    }
    return barred ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

void abandon_capture(CUstream_st& stream) {
    const std::lock_guard lock(captures().mutex);
    Capture* const capture = stream.capture;
    if (capture == nullptr) return;
    invalidate(*capture);
    if (capture->origin == &stream) {
        close(*capture);
        return;
    }
    leave(stream);
    capture->last.erase(&stream);
}

void forget_captured(CUevent_st& event) {
    const std::lock_guard lock(captures().mutex);
    if (event.capture != nullptr) event.capture->events.erase(&event);
    event.capture = nullptr;
}

CUresult begin_capture(CUstream_st& stream, CUstreamCaptureMode mode, CUgraph into, Nodes after) {
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (stream.legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    Captures& all = captures();
    const std::lock_guard lock(all.mutex);
    if (stream.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    auto* const capture = new Capture;
    capture->graph = into == nullptr ? make_graph() : into;
    capture->given_graph = into != nullptr;
    capture->origin = &stream;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->id = all.next_id++;
    all.active.push_back(capture);
    if (strict(*capture)) ++strict_captures;
    enter(*capture, stream, std::move(after));
    return CUDA_SUCCESS;
}

Captured end_capture(CUstream_st& stream) {
    const std::lock_guard lock(captures().mutex);
    Capture* const capture = stream.capture;
    if (capture == nullptr) return {CUDA_ERROR_ILLEGAL_STATE, nullptr};
    if (capture->origin != &stream) return {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, nullptr};
    const bool strange = capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
                         capture->thread != std::this_thread::get_id();
    if (strange) return {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, nullptr};
    CUresult result = CUDA_SUCCESS;
    if (capture->invalid) {
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    } else if (!joined(*capture)) {
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    CUgraph const graph = capture->graph;
    const bool ours = !capture->given_graph;
    close(*capture);
    if (result == CUDA_SUCCESS) return {result, graph};
    if (ours) destroy_graph(*graph);
    return {result, nullptr};
}

CaptureInfo capture_info(CUstream_st& stream) {
    const std::lock_guard lock(captures().mutex);
    Capture* const capture = stream.capture;
    if (capture == nullptr) return {};
    if (capture->invalid) return {.status = CU_STREAM_CAPTURE_STATUS_INVALIDATED};
    const Nodes& nodes = capture->last[&stream];
    return {.status = CU_STREAM_CAPTURE_STATUS_ACTIVE,
            .id = capture->id,
            .graph = capture->graph,
            .dependencies = nodes.data(),
            .count = nodes.size()};
}

CUresult update_capture(CUstream_st& stream, Nodes after, bool replace) {
    const std::lock_guard lock(captures().mutex);
    Capture* const capture = stream.capture;
    if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    Nodes& nodes = capture->last[&stream];
    if (replace) nodes.clear();
    nodes.insert(nodes.end(), after.begin(), after.end());
    return CUDA_SUCCESS;
}

CUgraphNode_st* capture_node(CUstream_st& stream, int type) {
    const std::lock_guard lock(captures().mutex);
    Capture* const capture = stream.capture;
    if (capture == nullptr || capture->invalid) return nullptr;
    Nodes& nodes = capture->last[&stream];
    CUgraphNode_st* const node = add_node(*capture->graph, type, nodes);
    nodes = {node};
    return node;
}

CUresult capture_kernel(CUstream_st& stream, Launch launch) {
    CUgraphNode_st* const node = capture_node(stream, CU_GRAPH_NODE_TYPE_KERNEL);
    if (node == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    node->launch = std::move(launch);
    return CUDA_SUCCESS;
}

CUresult capture_effect(CUstream_st& stream, int type, std::function<void()> effect) {
    CUgraphNode_st* const node = capture_node(stream, type);
    if (node == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    node->effect = std::move(effect);
    return CUDA_SUCCESS;
}

CUresult capture_host_call(CUstream_st& stream, void (*function)(void*), void* data) {
    CUgraphNode_st* const node = capture_node(stream, CU_GRAPH_NODE_TYPE_HOST);
    if (node == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    node->host_call = function;
    node->host_data = data;
    return CUDA_SUCCESS;
}

CUresult capture_event(CUstream_st& stream, CUevent_st& event) {
    const std::lock_guard lock(captures().mutex);
    Capture* const capture = stream.capture;
    if (capture == nullptr || capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (event.capture != nullptr) event.capture->events.erase(&event);
    event.capture = capture;
    event.recorded = true;
    event.after = capture->last[&stream];
    capture->events.insert(&event);
    return CUDA_SUCCESS;
}

CUresult capture_wait(CUstream_st& stream, CUevent_st& event) {
    const std::lock_guard lock(captures().mutex);
    Capture* const mine = stream.capture;
    Capture* const of_event = event.capture;
    if (of_event == nullptr) {
        if (mine == nullptr || !event.recorded) return CUDA_SUCCESS;
        invalidate(*mine);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (of_event->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (mine == nullptr) {
        if (stream.legacy) {
            invalidate(*of_event);
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
        enter(*of_event, stream, event.after);
        return CUDA_SUCCESS;
    }
    if (mine != of_event) {
        invalidate(*mine);
        invalidate(*of_event);
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    Nodes& nodes = mine->last[&stream];
    for (const CUgraphNode node : event.after) {
        if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
    }
    return CUDA_SUCCESS;
}

}  // namespace aliquot::sim
