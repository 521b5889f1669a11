// SPDX-License-Identifier: Apache-2.0
// Entry points about memory pools and allocation in stream order.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "sim/cuda/capture.h"
#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/pool.h"
#include "sim/cuda/two_streams.h"

using namespace aliquot::sim;

namespace {

/// The node of an allocation in a stream that captures; its memory is paid for by launches.
CUresult capture_allocation(CUstream_st& stream, CUdeviceptr* address, std::size_t bytes) {
    CUgraphNode_st* const node = capture_node(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    if (node == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    Device& device = *stream.context->device;
    if (const auto placed = place_allocation(*node, device, bytes); placed != CUDA_SUCCESS) {
        return placed;
    }
    node->alloc.bytesize = bytes;
    node->alloc.dptr = node->address;
    node->alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    node->alloc.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device.ordinal};
    *address = node->address;
    return CUDA_SUCCESS;
}

CUresult allocate(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool, bool own_pool,
                  CUstream handle, bool own_stream) {
    const Current current = current_context();
    if (!current) return current.result;
    if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    CUstream_st* const stream = stream_of(current.context, handle, own_stream);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Device& device = *stream->context->device;
    if (own_pool && (!valid(pool) || pool->destroyed)) return CUDA_ERROR_INVALID_VALUE;
    if (own_pool && pool->imported) return CUDA_ERROR_NOT_SUPPORTED;  // its owner allocates
    if (stream->capture.load() != nullptr) return capture_allocation(*stream, address, bytes);
    if (const auto barred = barred_in_legacy(*stream); barred != CUDA_SUCCESS) return barred;
    CUmemPoolHandle_st& from = own_pool ? *pool : *device.current_pool.load();
    const Granted granted = from.heap ? take_from_pool(from, bytes, current.context->id, *stream)
                                      : take_from_host(bytes);
    if (granted.result == CUDA_SUCCESS) *address = granted.address;
    return granted.result;
}

CUresult release(CUdeviceptr address, CUstream handle, bool own_stream) {
    const Current current = current_context();
    if (!current) return current.result;
    if (address == 0) return CUDA_ERROR_INVALID_VALUE;
    CUstream_st* const stream = stream_of(current.context, handle, own_stream);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Device* const device = Driver::get().device_of(address);
    if (device == nullptr) {
        return give_to_host(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    const auto found = find_allocation(*device, address);
    if (!found || found->address != address) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture.load() != nullptr) {
        CUgraphNode_st* const node = capture_node(*stream, CU_GRAPH_NODE_TYPE_MEM_FREE);
        if (node == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        node->address = address;
        return CUDA_SUCCESS;
    }
    if (const auto barred = barred_in_legacy(*stream); barred != CUDA_SUCCESS) return barred;
    // Memory of a pool can be used again at once by its stream, and by others after a wait. Whole
    // blocks go when the device has done with them.
    if (found->heap > 1) {
        const bool held =
            hold_block(*device, address, {.stream = stream, .position = device->queue.end()});
        return held ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    if (device->queue.idle()) {
        return give_memory_at(*device, address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    submit(*stream, {}, [device, address] { (void)give_memory_at(*device, address); });
    return CUDA_SUCCESS;
}

constexpr CUmemPool_attribute kReuseFirst = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
constexpr CUmemPool_attribute kReuseLast = CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;

/// Before a pool's figures are told, whatever a stream was to give back by now is given back.
void settle(const CUmemPoolHandle_st& pool) {
    (void)pool.device->queue.reached(pool.device->queue.end());
}

CUresult tell(CUmemoryPool* pool, CUmemoryPool known) {
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pool = known;
    return CUDA_SUCCESS;
}

/// The pool of a location: of the host and of managed memory there is one each.
CUresult pool_of(CUmemoryPool* pool, const CUmemLocation* location, CUmemAllocationType type,
                 bool first) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (pool == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
    if (!managed && type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (!managed && location->type == CU_MEM_LOCATION_TYPE_DEVICE) {
        Device* const device = Driver::get().device(location->id);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        return tell(pool, first ? device->default_pool : device->current_pool.load());
    }
    const bool on_host = location->type == CU_MEM_LOCATION_TYPE_HOST ||
                         location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    if (!managed && !on_host) return CUDA_ERROR_INVALID_VALUE;
    static std::mutex mutex;
    static CUmemoryPool pools[2] = {};
    const std::lock_guard lock(mutex);
    CUmemoryPool& known = pools[managed ? 1 : 0];
    if (known == nullptr) {
        CUmemPoolProps props{};
        props.allocType = type;
        props.location = *location;
        known = make_host_pool(*Driver::get().device(0), props);
        known->is_default = true;
    }
    return tell(pool, known);
}

}  // namespace

extern "C" {

TWO_STREAMS(cuMemAllocAsync, _ptsz, (CUdeviceptr * dptr, size_t bytesize, CUstream stream),
            allocate(dptr, bytesize, nullptr, false, stream, own_stream))
TWO_STREAMS(cuMemAllocFromPoolAsync, _ptsz,
            (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream stream),
            allocate(dptr, bytesize, pool, true, stream, own_stream))
TWO_STREAMS(cuMemFreeAsync, _ptsz, (CUdeviceptr dptr, CUstream stream),
            release(dptr, stream, own_stream))

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
    called(__func__);
    const Wanted found = wanted(device);
    return found.device == nullptr ? found.result : tell(pool, found.device->default_pool);
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
    called(__func__);
    const Wanted found = wanted(device);
    return found.device == nullptr ? found.result : tell(pool, found.device->current_pool.load());
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    called(__func__);
    const Wanted found = wanted(device);
    if (found.device == nullptr) return found.result;
    if (const auto checked = check(pool); checked != CUDA_SUCCESS) return checked;
    if (pool->device != found.device) return CUDA_ERROR_INVALID_VALUE;
    found.device->current_pool = pool;
    return CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
    called(__func__);
    return pool_of(pool, location, type, true);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
    called(__func__);
    return pool_of(pool, location, type, false);
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (pool == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (props->location.type == CU_MEM_LOCATION_TYPE_HOST ||
        props->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA) {
        if (props->handleTypes != 0) return CUDA_ERROR_NOT_SUPPORTED;
        *pool = make_host_pool(*Driver::get().device(0), *props);
        return CUDA_SUCCESS;
    }
    if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    Device* const device = Driver::get().device(props->location.id);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const int known = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if ((props->handleTypes & ~known) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    *pool = make_pool(*device, *props);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    called(__func__);
    if (const auto checked = check(pool); checked != CUDA_SUCCESS) return checked;
    if (pool->is_default) return CUDA_ERROR_INVALID_VALUE;
    Device& device = *pool->device;
    CUmemPoolHandle_st* expected = pool;
    device.current_pool.compare_exchange_strong(expected, device.default_pool);
    settle(*pool);
    end_pool(*pool);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
    called(__func__);
    if (const auto checked = check(pool); checked != CUDA_SUCCESS) return checked;
    settle(*pool);
    trim_pool(*pool, minBytesToKeep);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
    called(__func__);
    if (const auto checked = check(pool); checked != CUDA_SUCCESS) return checked;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (attribute >= kReuseFirst && attribute <= kReuseLast) {
        std::memcpy(&pool->reuse[attribute - kReuseFirst], value, sizeof(int));
        return CUDA_SUCCESS;
    }
    if (!pool->heap) return CUDA_SUCCESS;
    cuuint64_t bytes = 0;
    std::memcpy(&bytes, value, sizeof bytes);
    const std::lock_guard lock(pool->device->mutex);
    switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            pool->release_threshold_bytes = bytes;
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            if (bytes != 0) return CUDA_ERROR_INVALID_VALUE;
            pool->heap->reserved_high_bytes = pool->heap->reserved_bytes();
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            if (bytes != 0) return CUDA_ERROR_INVALID_VALUE;
            pool->heap->used_high_bytes = pool->heap->used_bytes();
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
    called(__func__);
    if (const auto checked = check(pool); checked != CUDA_SUCCESS) return checked;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (attribute >= kReuseFirst && attribute <= kReuseLast) {
        std::memcpy(value, &pool->reuse[attribute - kReuseFirst], sizeof(int));
        return CUDA_SUCCESS;
    }
    settle(*pool);
    const std::lock_guard lock(pool->device->mutex);
    cuuint64_t bytes = 0;
    if (!pool->heap) {
        std::memcpy(value, &bytes, sizeof bytes);
        return CUDA_SUCCESS;
    }
    switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            bytes = pool->release_threshold_bytes;
            break;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
            bytes = pool->heap->reserved_bytes();
            break;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            bytes = pool->heap->reserved_high_bytes;
            break;
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
            bytes = pool->heap->used_bytes();
            for (const auto& [address, held] : pool->device->held_blocks) {
                if (held.heap == pool->heap->id()) bytes -= std::min(bytes, held.bytes);
            }
            break;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            bytes = pool->heap->used_high_bytes;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    std::memcpy(value, &bytes, sizeof bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
    called(__func__);
    if (const auto checked = check(pool); checked != CUDA_SUCCESS) return checked;
    if (map == nullptr && count > 0) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
        const Device* const device = Driver::get().device(map[i].location.id);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        // A pool's own device cannot be shut out.
        if (device == pool->device && map[i].flags != pool->access) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(int* flags, CUmemoryPool pool, CUmemLocation* location) {
    called(__func__);
    if (const auto checked = check(pool); checked != CUDA_SUCCESS) return checked;
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = location->id == pool->device->ordinal ? pool->access : 0;
    return CUDA_SUCCESS;
}

}  // extern "C"
