// SPDX-License-Identifier: Apache-2.0
// Entry points about what a context is set to, and whom it may reach.
#include <mutex>
#include <set>
#include <utility>

#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/stream.h"
#include "sim/cuda/trace.h"

using namespace aliquot::sim;

namespace {

using Peers = std::set<std::pair<CUcontext, CUcontext>>;
std::mutex peers_mutex;

template <class Value, class Read>
CUresult tell(CUcontext context, Value* value, Read&& read) {
    const Current known = context == nullptr ? current_context() : usable(context);
    if (!known) return known.result;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *value = read(*known.context);
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto& limits = current.context->limits;
    if (limit < 0 || static_cast<std::size_t>(limit) >= limits.size()) {
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    }
    *value = limits[static_cast<std::size_t>(limit)];
    return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    auto& limits = current.context->limits;
    if (limit < 0 || static_cast<std::size_t>(limit) >= limits.size()) {
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    }
    limits[static_cast<std::size_t>(limit)] = value;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int* flags) {
    called(__func__);
    return tell(nullptr, flags, [](const CUctx_st& context) { return context.flags; });
}

CUresult cuCtxSetFlags(unsigned int flags) {
    called(__func__);
    constexpr unsigned kMask = 0xff;
    const Current current = current_context();
    if (!current) return current.result;
    if ((flags & ~kMask) != 0) return CUDA_ERROR_INVALID_VALUE;
    current.context->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned int* version) {
    called(__func__);
    return tell(context, version, [](const CUctx_st& known) { return known.api_version; });
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
    called(__func__);
    return tell(context, id,
                [](const CUctx_st& known) { return static_cast<unsigned long long>(known.id); });
}

CUresult cuCtxGetCacheConfig(int* config) {
    called(__func__);
    return tell(nullptr, config, [](const CUctx_st&) { return 0; });
}

CUresult cuCtxSetCacheConfig(int config) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    return config >= 0 && config <= 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxGetSharedMemConfig(int* config) {
    called(__func__);
    return tell(nullptr, config, [](const CUctx_st&) { return 1; });
}

CUresult cuCtxSetSharedMemConfig(int config) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    return config >= 0 && config <= 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxResetPersistingL2Cache(void) {
    called(__func__);
    return current_context().result;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    const Current other = usable(peer);
    if (!other) return other.result;
    int can = 0;
    (void)cuDeviceCanAccessPeer(&can, current.context->device->ordinal, peer->device->ordinal);
    if (flags != 0 || peer == current.context) return CUDA_ERROR_INVALID_VALUE;
    if (can == 0) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    const std::lock_guard lock(peers_mutex);
    return immortal<Peers>().insert({current.context, peer}).second
               ? CUDA_SUCCESS
               : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
    called(__func__);
    const Current current = current_context();
    if (!current) return current.result;
    const std::lock_guard lock(peers_mutex);
    return immortal<Peers>().erase({current.context, peer}) > 0
               ? CUDA_SUCCESS
               : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CUresult cuProfilerStart(void) {
    called(__func__);
    return current_context().result;
}

CUresult cuProfilerStop(void) {
    called(__func__);
    return current_context().result;
}

CUresult cuFlushGPUDirectRDMAWrites(int, int) {
    called(__func__);
    return current_context().result;
}

CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
    called(__func__);
    const Current known = usable(context);
    if (!known) return known.result;
    // All work of the context comes before it, as with its legacy stream.
    const CUcontext before = thread_state.current;
    thread_state.current = context;
    const CUresult result = cuEventRecord(event, nullptr);
    thread_state.current = before;
    return result;
}

CUresult cuCtxWaitEvent(CUcontext context, CUevent event) {
    called(__func__);
    const Current known = usable(context);
    if (!known) return known.result;
    const CUcontext before = thread_state.current;
    thread_state.current = context;
    const CUresult result = cuStreamWaitEvent(nullptr, event, 0);
    thread_state.current = before;
    return result;
}

}  // extern "C"
