// SPDX-License-Identifier: Apache-2.0
// Entry points about contexts.
#include <mutex>

#include "sim/cuda/capture.h"
#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/pool.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

constexpr unsigned kFlagsMask = 0xff;

CUresult create(CUcontext* context, unsigned flags, CUdevice ordinal, unsigned api_version) {
    const Wanted found = wanted(ordinal);
    if (found.result != CUDA_SUCCESS) return found.result;
    if (context == nullptr || (flags & ~kFlagsMask) != 0) return CUDA_ERROR_INVALID_VALUE;
    Current made{};
    {
        const std::lock_guard lock(found.device->contexts_mutex);
        made = make_context(*found.device, flags, false);
    }
    if (!made) return made.result;
    made.context->api_version = api_version;
    made.context->references = 1;
    if (const auto pushed = push_context(made.context); pushed != CUDA_SUCCESS) return pushed;
    *context = made.context;
    return CUDA_SUCCESS;
}

CUresult destroy(CUcontext context) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (context == nullptr || !valid(context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->primary) return CUDA_ERROR_INVALID_CONTEXT;
    const std::lock_guard lock(context->device->contexts_mutex);
    if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    end_context(context);
    ThreadState& thread = thread_state;
    if (thread.current == context) {
        thread.current = thread.depth > 0 ? thread.stack[--thread.depth] : nullptr;
    }
    return CUDA_SUCCESS;
}

CUresult release_primary(CUdevice ordinal) {
    const Wanted found = wanted(ordinal);
    if (found.result != CUDA_SUCCESS) return found.result;
    const std::lock_guard lock(found.device->contexts_mutex);
    if (found.device->primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--found.device->primary_references == 0 && found.device->primary->alive) {
        end_context(found.device->primary);
    }
    return CUDA_SUCCESS;
}

CUresult reset_primary(CUdevice ordinal) {
    const Wanted found = wanted(ordinal);
    if (found.result != CUDA_SUCCESS) return found.result;
    const std::lock_guard lock(found.device->contexts_mutex);
    CUctx_st* const primary = found.device->primary;
    if (primary != nullptr && primary->alive) end_context(primary);
    return CUDA_SUCCESS;
}

CUresult set_primary_flags(CUdevice ordinal, unsigned flags) {
    const Wanted found = wanted(ordinal);
    if (found.result != CUDA_SUCCESS) return found.result;
    if ((flags & ~kFlagsMask) != 0) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(found.device->contexts_mutex);
    found.device->primary_flags = flags;
    CUctx_st* const primary = found.device->primary;
    if (primary != nullptr && primary->alive) primary->flags = flags;
    return CUDA_SUCCESS;
}

CUresult push(CUcontext context) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    const Current known = usable(context);
    if (known.context == nullptr) return known.result;
    return push_context(context);
}

CUresult pop(CUcontext* context) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    ThreadState& thread = thread_state;
    if (thread.current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = thread.current;
    thread.current = thread.depth > 0 ? thread.stack[--thread.depth] : nullptr;
    return CUDA_SUCCESS;
}

CUresult synchronize_context(CUcontext context) {
    if (const auto barred = barred_in_context(context); barred != CUDA_SUCCESS) return barred;
    Device& device = *context->device;
    const CUresult result = device.queue.wait(device.queue.end());
    if (result != CUDA_SUCCESS) return result;
    release_unused(device);
    return context->error.load();
}

}  // namespace

extern "C" {

CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
    called(__func__);
    return create(context, flags, device, 3010);
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
    called(__func__);
    return create(context, flags, device, 3020);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* params, int count,
                        unsigned int flags, CUdevice device) {
    called(__func__);
    // Without MPS no device takes an affinity.
    if (params != nullptr && count > 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create(context, flags, device, 3020);
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned int flags,
                        CUdevice device) {
    called(__func__);
    if (params != nullptr && params->numExecAffinityParams > 0) {
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    }
    if (params != nullptr && params->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    return create(context, flags, device, 3020);
}

CUresult cuCtxDestroy(CUcontext context) {
    called(__func__);
    return destroy(context);
}

CUresult cuCtxDestroy_v2(CUcontext context) {
    called(__func__);
    return destroy(context);
}

CUresult cuCtxAttach(CUcontext* context, unsigned int flags) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (context == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    ++current.context->references;
    *context = current.context;
    return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext context) {
    called(__func__);
    const Current known = usable(context);
    if (known.context == nullptr) return known.result;
    return --context->references > 0 ? CUDA_SUCCESS : destroy(context);
}

CUresult cuCtxPushCurrent(CUcontext context) {
    called(__func__);
    return push(context);
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    called(__func__);
    return push(context);
}

CUresult cuCtxPopCurrent(CUcontext* context) {
    called(__func__);
    return pop(context);
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    called(__func__);
    return pop(context);
}

CUresult cuCtxSetCurrent(CUcontext context) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    ThreadState& thread = thread_state;
    if (context == nullptr) {
        thread.current = thread.depth > 0 ? thread.stack[--thread.depth] : nullptr;
        return CUDA_SUCCESS;
    }
    const Current known = usable(context);
    if (known.context == nullptr) return known.result;
    thread.current = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = thread_state.current;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
    called(__func__);
    const Current current = current_context();
    if (current.context == nullptr) return current.result;
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = current.context->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
    called(__func__);
    if (context == nullptr) return cuCtxGetDevice(device);
    const Current known = usable(context);
    if (known.context == nullptr) return known.result;
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = context->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
    called(__func__);
    const Current current = current_context();
    return current ? synchronize_context(current.context) : current.result;
}

CUresult cuCtxSynchronize_v2(CUcontext context) {
    called(__func__);
    if (context == nullptr) return cuCtxSynchronize();
    const Current known = usable(context);
    return known ? synchronize_context(context) : known.result;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
    called(__func__);
    const Wanted found = wanted(ordinal);
    if (found.result != CUDA_SUCCESS) return found.result;
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device& device = *found.device;
    const std::lock_guard lock(device.contexts_mutex);
    if (device.primary == nullptr || !device.primary->alive) {
        const Current made = make_context(device, device.primary_flags, true);
        if (!made) return made.result;
        made.context->api_version = 3020;
    }
    ++device.primary_references;
    *context = device.primary;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    called(__func__);
    return release_primary(device);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    called(__func__);
    return release_primary(device);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    called(__func__);
    return reset_primary(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    called(__func__);
    return reset_primary(device);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
    called(__func__);
    return set_primary_flags(device, flags);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
    called(__func__);
    return set_primary_flags(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int* flags, int* active) {
    called(__func__);
    const Wanted found = wanted(ordinal);
    if (found.result != CUDA_SUCCESS) return found.result;
    if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(found.device->contexts_mutex);
    const CUctx_st* const primary = found.device->primary;
    *flags = found.device->primary_flags;
    *active = primary != nullptr && primary->alive ? 1 : 0;
    return CUDA_SUCCESS;
}

}  // extern "C"
