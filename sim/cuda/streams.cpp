// SPDX-License-Identifier: Apache-2.0
// Entry points about streams.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "sim/cuda/capture.h"
#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/host_calls.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/pool.h"
#include "sim/cuda/stream.h"
#include "sim/cuda/trace.h"

namespace aliquot::sim {

namespace {

bool blocks(const CUstream_st& stream) { return (stream.flags & CU_STREAM_NON_BLOCKING) == 0; }

void raise(std::atomic<std::uint64_t>& position, std::uint64_t to) {
    std::uint64_t before = position.load();
    while (before < to && !position.compare_exchange_weak(before, to)) {
    }
}

}  // namespace

std::uint64_t end_of(const CUstream_st& stream) {
    const std::uint64_t own = stream.position.load(std::memory_order_acquire);
    return stream.legacy ? std::max(own, stream.context->blocking_position.load()) : own;
}

std::uint64_t start_of(const CUstream_st& stream) {
    const std::uint64_t end = end_of(stream);
    return blocks(stream) ? std::max(end, stream.context->legacy.position.load()) : end;
}

void advance(CUstream_st& stream, std::uint64_t position) {
    raise(stream.position, position);
    if (blocks(stream)) raise(stream.context->blocking_position, position);
}

void submit(CUstream_st& stream, const Work& work, Queue::Effect effect) {
    stream.context->device->queue.submit(stream, work, std::move(effect));
}

CUresult synchronize(CUstream_st& stream) {
    Device& device = *stream.context->device;
    if (const auto waited = device.queue.wait(end_of(stream)); waited != CUDA_SUCCESS)
        return waited;
    wait_for_host_calls(stream.host_calls.load(std::memory_order_acquire));
    release_unused(device);
    return stream.context->error.load(std::memory_order_relaxed);
}

}  // namespace aliquot::sim

using namespace aliquot::sim;

namespace {

constexpr int kHighestPriority = -5;

struct Meant {
    CUresult result;
    CUstream_st* stream;
};

/// The stream of a call.
Meant meant(CUstream handle, bool per_thread) {
    const Current current = current_context();
    if (!current) return {current.result, nullptr};
    CUstream_st* const stream = stream_of(current.context, handle, per_thread);
    if (stream == nullptr) return {CUDA_ERROR_INVALID_HANDLE, nullptr};
    return {CUDA_SUCCESS, stream};
}

CUresult create(CUstream* stream, unsigned flags, int priority) {
    const Current current = current_context();
    if (!current) return current.result;
    if (stream == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    static std::atomic<std::uint64_t> ids{3};
    CUstream_st* const made = objects<CUstream_st>().make();
    made->context = current.context;
    made->flags = flags;
    made->priority = std::clamp(priority, kHighestPriority, 0);
    made->id = ids++;
    const std::lock_guard lock(current.context->mutex);
    current.context->streams.push_back(made);
    *stream = made;
    return CUDA_SUCCESS;
}

CUresult destroy(CUstream handle) {
    const Current current = current_context();
    if (!current) return current.result;
    if (reinterpret_cast<std::uintptr_t>(handle) <= CU_STREAM_PER_THREAD_VALUE || !valid(handle)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    abandon_capture(*handle);
    CUctx_st& context = *handle->context;
    const std::lock_guard lock(context.mutex);
    std::erase(context.streams, handle);
    objects<CUstream_st>().destroy(handle);
    return CUDA_SUCCESS;
}

CUresult query(CUstream handle, bool per_thread) {
    const Meant found = meant(handle, per_thread);
    if (found.stream == nullptr) return found.result;
    if (const auto barred = barred_by_capture(*found.stream); barred != CUDA_SUCCESS) return barred;
    const bool done = found.stream->context->device->queue.reached(end_of(*found.stream)) &&
                      host_calls_done(found.stream->host_calls.load());
    if (!done) return CUDA_ERROR_NOT_READY;
    return found.stream->context->error.load(std::memory_order_relaxed);
}

CUresult wait_until_done(CUstream handle, bool per_thread) {
    const Meant found = meant(handle, per_thread);
    if (found.stream == nullptr) return found.result;
    if (const auto barred = barred_by_capture(*found.stream); barred != CUDA_SUCCESS) return barred;
    return synchronize(*found.stream);
}

template <class Value, class Read>
CUresult tell(CUstream handle, bool per_thread, Value* value, Read&& read) {
    const Meant found = meant(handle, per_thread);
    if (found.stream == nullptr) return found.result;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *value = read(*found.stream);
    return CUDA_SUCCESS;
}

CUcontext context_of(const CUstream_st& stream) { return stream.context; }
int device_of(const CUstream_st& stream) { return stream.context->device->ordinal; }
unsigned flags_of(const CUstream_st& stream) { return stream.flags; }
int priority_of(const CUstream_st& stream) { return stream.priority; }

unsigned long long id_of(const CUstream_st& stream) {
    return stream.legacy ? CU_STREAM_LEGACY_VALUE : std::max<std::uint64_t>(stream.id, 2);
}

}  // namespace

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
    called(__func__);
    return create(stream, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
    called(__func__);
    return create(stream, flags, priority);
}

CUresult cuStreamDestroy(CUstream stream) {
    called(__func__);
    return destroy(stream);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    called(__func__);
    return destroy(stream);
}

CUresult cuStreamQuery(CUstream stream) {
    called(__func__);
    return query(stream, false);
}

CUresult cuStreamQuery_ptsz(CUstream stream) {
    called(__func__);
    return query(stream, true);
}

CUresult cuStreamSynchronize(CUstream stream) {
    called(__func__);
    return wait_until_done(stream, false);
}

CUresult cuStreamSynchronize_ptsz(CUstream stream) {
    called(__func__);
    return wait_until_done(stream, true);
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
    called(__func__);
    return tell(stream, false, context, context_of);
}

CUresult cuStreamGetCtx_ptsz(CUstream stream, CUcontext* context) {
    called(__func__);
    return tell(stream, true, context, context_of);
}

CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green) {
    called(__func__);
    if (green != nullptr) *green = nullptr;
    return tell(stream, false, context, context_of);
}

CUresult cuStreamGetCtx_v2_ptsz(CUstream stream, CUcontext* context, CUgreenCtx* green) {
    called(__func__);
    if (green != nullptr) *green = nullptr;
    return tell(stream, true, context, context_of);
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
    called(__func__);
    return tell(stream, false, device, device_of);
}

CUresult cuStreamGetDevice_ptsz(CUstream stream, CUdevice* device) {
    called(__func__);
    return tell(stream, true, device, device_of);
}

CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) {
    called(__func__);
    return tell(stream, false, flags, flags_of);
}

CUresult cuStreamGetFlags_ptsz(CUstream stream, unsigned int* flags) {
    called(__func__);
    return tell(stream, true, flags, flags_of);
}

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
    called(__func__);
    return tell(stream, false, priority, priority_of);
}

CUresult cuStreamGetPriority_ptsz(CUstream stream, int* priority) {
    called(__func__);
    return tell(stream, true, priority, priority_of);
}

CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
    called(__func__);
    return tell(stream, false, id, id_of);
}

CUresult cuStreamGetId_ptsz(CUstream stream, unsigned long long* id) {
    called(__func__);
    return tell(stream, true, id, id_of);
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = kHighestPriority;
    return CUDA_SUCCESS;
}

}  // extern "C"
