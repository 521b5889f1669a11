// SPDX-License-Identifier: Apache-2.0
// Entry points about events.
#include <utility>

#include "sim/cuda/capture.h"
#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/pool.h"
#include "sim/cuda/stream.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

constexpr unsigned kKnownEventFlags = 7;  // blocking, without time, for other processes

CUresult record(CUevent event, CUstream handle, bool per_thread) {
    const Current current = current_context();
    if (!current) return current.result;
    if (!valid(event)) return CUDA_ERROR_INVALID_HANDLE;
    CUstream_st* const stream = stream_of(current.context, handle, per_thread);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    // An event and its stream are of one context.
    if (event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture.load() != nullptr) return capture_event(*stream, *event);
    Queue& queue = stream->context->device->queue;
    if (event->recorded && event->time_ns == 0) queue.forget(*event);
    if (event->capture != nullptr) forget_captured(*event);
    event->recorded = true;
    event->position = end_of(*stream);
    if (queue.reached(event->position)) {
        event->time_ns = event->timed() ? aliquot::sim::monotonic_ns() : 1;
        return CUDA_SUCCESS;
    }
    event->time_ns = 0;
    if (event->timed()) queue.watch(*event);
    return CUDA_SUCCESS;
}

CUresult query(CUevent event) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(event)) return CUDA_ERROR_INVALID_HANDLE;
    if (const auto barred = barred_by_capture(*event); barred != CUDA_SUCCESS) return barred;
    if (!event->recorded) return CUDA_SUCCESS;
    const bool reached = event->context->device->queue.reached(event->position);
    return reached ? event->context->error.load() : CUDA_ERROR_NOT_READY;
}

CUresult synchronize_event(CUevent event) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(event)) return CUDA_ERROR_INVALID_HANDLE;
    if (const auto barred = barred_by_capture(*event); barred != CUDA_SUCCESS) return barred;
    if (!event->recorded) return CUDA_SUCCESS;
    Device& device = *event->context->device;
    if (const auto waited = device.queue.wait(event->position); waited != CUDA_SUCCESS) {
        return waited;
    }
    release_unused(device);
    return event->context->error.load();
}

CUresult destroy(CUevent event) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (!valid(event)) return CUDA_ERROR_INVALID_HANDLE;
    if (event->capture != nullptr) forget_captured(*event);
    if (event->recorded && event->time_ns == 0) event->context->device->queue.forget(*event);
    objects<CUevent_st>().destroy(event);
    return CUDA_SUCCESS;
}

CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const CUevent event : {start, end}) {
        if (!valid(event)) return CUDA_ERROR_INVALID_HANDLE;
        if (event->capture != nullptr) return CUDA_ERROR_CAPTURED_EVENT;
        if (!event->recorded || !event->timed()) return CUDA_ERROR_INVALID_HANDLE;
    }
    for (const CUevent event : {start, end}) {
        if (!event->context->device->queue.reached(event->position)) return CUDA_ERROR_NOT_READY;
    }
    const auto from = static_cast<std::int64_t>(start->time_ns.load());
    const auto to = static_cast<std::int64_t>(end->time_ns.load());
    *milliseconds = static_cast<float>(static_cast<double>(to - from) / 1e6);
    return CUDA_SUCCESS;
}

CUresult wait_for_event(CUstream handle, CUevent event, bool per_thread) {
    const Current current = current_context();
    if (!current) return current.result;
    if (!valid(event)) return CUDA_ERROR_INVALID_HANDLE;
    CUstream_st* const stream = stream_of(current.context, handle, per_thread);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (event->capture != nullptr || stream->capture.load() != nullptr) {
        return capture_wait(*stream, *event);
    }
    if (!event->recorded) return CUDA_SUCCESS;
    // Another device is waited for here.
    Queue& of_event = event->context->device->queue;
    if (stream->context->device != event->context->device) return of_event.wait(event->position);
    advance(*stream, event->position);
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (event == nullptr || flags > kKnownEventFlags) return CUDA_ERROR_INVALID_VALUE;
    CUevent_st* const made = objects<CUevent_st>().make();
    made->context = current.context;
    made->flags = flags;
    *event = made;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    called(__func__);
    return record(event, stream, false);
}

CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) {
    called(__func__);
    return record(event, stream, true);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
    called(__func__);
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE : record(event, stream, false);
}

CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned int flags) {
    called(__func__);
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE : record(event, stream, true);
}

CUresult cuEventQuery(CUevent event) {
    called(__func__);
    return query(event);
}

CUresult cuEventSynchronize(CUevent event) {
    called(__func__);
    return synchronize_event(event);
}

CUresult cuEventDestroy(CUevent event) {
    called(__func__);
    return destroy(event);
}

CUresult cuEventDestroy_v2(CUevent event) {
    called(__func__);
    return destroy(event);
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    called(__func__);
    return elapsed(milliseconds, start, end);
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    called(__func__);
    return elapsed(milliseconds, start, end);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
    called(__func__);
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE : wait_for_event(stream, event, false);
}

CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags) {
    called(__func__);
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE : wait_for_event(stream, event, true);
}

}  // extern "C"
