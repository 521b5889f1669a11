// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/context.h"

#include <algorithm>

#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/pool.h"
#include "sim/cuda/ranges.h"

namespace aliquot::sim {

__attribute__((tls_model("initial-exec"))) thread_local ThreadState thread_state;

Current usable(CUcontext context) {
    if (context == nullptr || !valid(context)) return {CUDA_ERROR_INVALID_CONTEXT, nullptr};
    if (!context->alive.load(std::memory_order_acquire)) {
        return {CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr};
    }
    return {context->error.load(std::memory_order_relaxed), context};
}

Current current_context() {
    if (!ready.load(std::memory_order_acquire)) return {CUDA_ERROR_NOT_INITIALIZED, nullptr};
    const CUcontext context = thread_state.current;
    if (context == nullptr) return {CUDA_ERROR_INVALID_CONTEXT, nullptr};
    if (!context->alive.load(std::memory_order_acquire)) {
        return {CUDA_ERROR_CONTEXT_IS_DESTROYED, nullptr};
    }
    return {context->error.load(std::memory_order_relaxed), context};
}

CUresult push_context(CUcontext context) {
    ThreadState& thread = thread_state;
    if (thread.depth == ThreadState::kMaxDepth) return CUDA_ERROR_OUT_OF_MEMORY;
    thread.stack[thread.depth++] = thread.current;
    thread.current = context;
    return CUDA_SUCCESS;
}

namespace {

/// A destroyed primary context comes back under the same handle, as drivers do.
CUctx_st* new_or_old(Device& device, bool primary) {
    if (primary && device.primary != nullptr) return device.primary;
    auto* const context = new CUctx_st;
    Driver& driver = Driver::get();
    const std::lock_guard lock(driver.mutex);
    driver.contexts.push_back(context);
    context->id = static_cast<std::uint32_t>(driver.contexts.size());
    context->device = &device;
    context->primary = primary;
    context->legacy.magic = CUstream_st::kMagic;
    context->legacy.context = context;
    context->legacy.legacy = true;
    if (primary) device.primary = context;
    return context;
}

}  // namespace

Current make_context(Device& device, unsigned flags, bool primary) {
    if (device.contexts == 0) {
        if (const auto entered = device.account.enter(); entered != CUDA_SUCCESS) {
            return {entered, nullptr};
        }
    }
    const std::uint64_t bytes = context_bytes(device);
    if (const auto paid = device.account.grow(bytes); paid != CUDA_SUCCESS) {
        if (device.contexts == 0) device.account.leave();
        return {paid, nullptr};
    }
    CUctx_st* const context = new_or_old(device, primary);
    context->overhead_bytes = bytes;
    context->flags = flags;
    context->error = CUDA_SUCCESS;
    context->captures = 0;
    context->limits = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0, 0, 0};
    context->legacy.position = 0;
    ++device.contexts;
    context->alive.store(true, std::memory_order_release);
    return {CUDA_SUCCESS, context};
}

void end_context(CUcontext context) {
    Device& device = *context->device;
    context->alive.store(false, std::memory_order_release);
    {
        const std::lock_guard lock(context->mutex);
        for (CUstream_st* const stream : context->streams) objects<CUstream_st>().destroy(stream);
        context->streams.clear();
        for (const auto& [thread, stream] : context->per_thread) {
            objects<CUstream_st>().destroy(stream);
        }
        context->per_thread.clear();
    }
    --device.contexts;
    if (device.contexts == 0) device.queue.drop();
    release_held(device, nullptr, true);
    give_all(device, context->id);
    forget_ranges_of(context);
    device.account.shrink(context->overhead_bytes);
    if (device.contexts > 0) return;
    end_pools(device);
    forget_graph_memory(device);
    device.account.leave();
}

CUstream_st* stream_of(CUcontext context, CUstream handle, bool per_thread) {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    if (value == 0 ? !per_thread : value == CU_STREAM_LEGACY_VALUE) return &context->legacy;
    if (value > CU_STREAM_PER_THREAD_VALUE) return valid(handle) ? handle : nullptr;
    ThreadState& thread = thread_state;
    if (thread.stream_context == context && valid(thread.stream) &&
        thread.stream->context == context) {
        return thread.stream;
    }
    const std::lock_guard lock(context->mutex);
    CUstream_st*& own = context->per_thread[std::this_thread::get_id()];
    if (own == nullptr) {
        own = objects<CUstream_st>().make();
        own->context = context;
    }
    thread.stream_context = context;
    thread.stream = own;
    return own;
}

}  // namespace aliquot::sim
