// SPDX-License-Identifier: Apache-2.0
// Entry points about green contexts: contexts on a part of a device's multiprocessors. Here the part
// is only kept and told; work runs as fast as anywhere on the device.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/trace.h"

struct CUdevResourceDesc_st {
    static constexpr std::uint64_t kMagic = 0x63'73'65'64'65'75'63'00;
    std::uint64_t magic = 0;
    CUdevResource resource{};
};

struct CUgreenCtx_st {
    static constexpr std::uint64_t kMagic = 0x6e'65'65'72'67'75'63'00;
    std::uint64_t magic = 0;
    CUcontext context = nullptr;
    CUdevResource resource{};
};

using namespace aliquot::sim;

namespace {

constexpr int kMultiprocessors = 1;  // the one type of resource
constexpr unsigned kNonBlocking = 1;
constexpr unsigned kDefaultStream = 1;

unsigned smallest_part(const Device& device) { return device.model->compute_major >= 9 ? 8 : 2; }

CUdevResource resource_of(const Device& device, unsigned multiprocessors) {
    CUdevResource resource{};
    resource.type = kMultiprocessors;
    resource.sm.smCount = multiprocessors;
    resource.sm.minSmPartitionSize = smallest_part(device);
    resource.sm.smCoscheduledAlignment = smallest_part(device);
    return resource;
}

CUresult tell(const Device& device, unsigned multiprocessors, CUdevResource* resource, int type) {
    if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != kMultiprocessors) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = resource_of(device, multiprocessors);
    return CUDA_SUCCESS;
}

CUresult check(CUgreenCtx green) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    return valid(green) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

extern "C" {

CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource* resource, int type) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    const Device* const device = Driver::get().device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    return tell(*device, device->multiprocessors, resource, type);
}

CUresult cuCtxGetDevResource(CUcontext context, CUdevResource* resource, int type) {
    called(__func__);
    const Current known = context == nullptr ? current_context() : usable(context);
    if (!known) return known.result;
    const Device& device = *known.context->device;
    return tell(device, device.multiprocessors, resource, type);
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource* resource, int type) {
    called(__func__);
    if (const auto checked = check(green); checked != CUDA_SUCCESS) return checked;
    return tell(*green->context->device, green->resource.sm.smCount, resource, type);
}

CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned int* groups,
                                     const CUdevResource* input, CUdevResource* remaining,
                                     unsigned int, unsigned int least) {
    called(__func__);
    if (const auto ready_now = needs_init(); ready_now != CUDA_SUCCESS) return ready_now;
    if (groups == nullptr || input == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (input->type != kMultiprocessors) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    const unsigned unit = std::max(input->sm.smCoscheduledAlignment, 1U);
    const unsigned size = (std::max(least, unit) + unit - 1) / unit * unit;
    const unsigned possible = input->sm.smCount / size;
    if (possible == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    const unsigned made = result == nullptr ? possible : std::min(possible, *groups);
    for (unsigned i = 0; result != nullptr && i < made; ++i) {
        result[i] = *input;
        result[i].sm.smCount = size;
    }
    *groups = made;
    if (remaining != nullptr) {
        *remaining = *input;
        remaining->sm.smCount = input->sm.smCount - made * size;
    }
    return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* description, CUdevResource* resources,
                                   unsigned int count) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (description == nullptr || resources == nullptr || count == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUdevResource all = resources[0];
    for (unsigned i = 0; i < count; ++i) {
        if (resources[i].type != kMultiprocessors) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        if (i > 0) all.sm.smCount += resources[i].sm.smCount;
    }
    CUdevResourceDesc_st* const made = objects<CUdevResourceDesc_st>().make();
    made->resource = all;
    *description = made;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc description, CUdevice ordinal,
                          unsigned int flags) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    Device* const device = Driver::get().device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (green == nullptr || !valid(description) || flags != kDefaultStream) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const std::lock_guard lock(device->contexts_mutex);
    const Current made = make_context(*device, 0, false);
    if (!made) return made.result;
    CUgreenCtx_st* const object = objects<CUgreenCtx_st>().make();
    object->context = made.context;
    object->resource = description->resource;
    *green = object;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx green) {
    called(__func__);
    if (const auto checked = check(green); checked != CUDA_SUCCESS) return checked;
    {
        const std::lock_guard lock(green->context->device->contexts_mutex);
        if (green->context->alive) end_context(green->context);
    }
    objects<CUgreenCtx_st>().destroy(green);
    return CUDA_SUCCESS;
}

CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
    called(__func__);
    if (const auto checked = check(green); checked != CUDA_SUCCESS) return checked;
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = green->context;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx green, unsigned int flags,
                                int priority) {
    called(__func__);
    if (const auto checked = check(green); checked != CUDA_SUCCESS) return checked;
    if (stream == nullptr || flags != kNonBlocking) return CUDA_ERROR_INVALID_VALUE;
    const CUcontext before = thread_state.current;
    thread_state.current = green->context;
    const CUresult result = cuStreamCreateWithPriority(stream, flags, priority);
    thread_state.current = before;
    return result;
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event) {
    called(__func__);
    if (const auto checked = check(green); checked != CUDA_SUCCESS) return checked;
    return cuCtxRecordEvent(green->context, event);
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event) {
    called(__func__);
    if (const auto checked = check(green); checked != CUDA_SUCCESS) return checked;
    return cuCtxWaitEvent(green->context, event);
}

CUresult cuGreenCtxGetId(CUgreenCtx green, unsigned long long* id) {
    called(__func__);
    if (const auto checked = check(green); checked != CUDA_SUCCESS) return checked;
    return cuCtxGetId(green->context, id);
}

}  // extern "C"
