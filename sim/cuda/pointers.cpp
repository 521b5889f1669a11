// SPDX-License-Identifier: Apache-2.0
// Entry points that ask about an address, or advise where its memory should be.
#include <cstring>

#include "sim/cuda/address.h"
#include "sim/cuda/context.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/pool.h"
#include "sim/cuda/ranges.h"
#include "sim/cuda/two_streams.h"

using namespace aliquot::sim;

namespace {

/// CUpointer_attribute.
enum Attribute : int {
    kContext = 1,
    kMemoryType = 2,
    kDevicePointer = 3,
    kHostPointer = 4,
    kSyncMemops = 6,
    kBufferId = 7,
    kIsManaged = 8,
    kDeviceOrdinal = 9,
    kIpcCapable = 10,
    kRangeStart = 11,
    kRangeSize = 12,
    kMapped = 13,
    kAllowedHandles = 14,
    kRdmaCapable = 15,
    kAccessFlags = 16,
    kPool = 17,
    kMappingSize = 18,
    kMappingBase = 19,
    kBlockId = 20,
    kDecompress = 21,
};

/// What is known of an address.
struct Place {
    bool known = false;
    bool host = false;
    bool managed = false;
    bool mapping = false;
    bool plain = false;  // of cuMemAlloc
    CUcontext context = nullptr;
    int device = -1;
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
    CUmemoryPool pool = nullptr;
};

CUcontext context_of(std::uint32_t owner) {
    Driver& driver = Driver::get();
    const std::lock_guard lock(driver.mutex);
    return owner == 0 || owner > driver.contexts.size() ? nullptr : driver.contexts[owner - 1];
}

Place look_up(std::uint64_t address) {
    if (Device* const device = Driver::get().device_of(address)) {
        const auto found = find_allocation(*device, address);
        if (!found || found->use == Use::kArray) return {};
        const bool pooled = found->heap > 1;
        return {.known = true,
                .managed = found->use == Use::kManaged,
                .plain = !pooled && found->use == Use::kPlain,
                .context = context_of(found->owner),
                .device = device->ordinal,
                .start = found->address,
                .bytes = found->bytes,
                .pool = pooled ? device->pools[found->heap] : nullptr};
    }
    const auto range = find_range(address);
    if (!range) return {};
    return {.known = true,
            .host = range->kind == RangeKind::kHost || range->kind == RangeKind::kRegistered,
            .mapping = range->kind == RangeKind::kMapping,
            .context = range->context,
            .device = range->device,
            .start = range->address,
            .bytes = range->bytes};
}

template <class Value>
CUresult put(void* out, Value value) {
    std::memcpy(out, &value, sizeof value);
    return CUDA_SUCCESS;
}

CUresult tell(void* out, int attribute, std::uint64_t address) {
    constexpr int kReadWrite = 3;
    const Place place = look_up(address);
    if (!place.known) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
        case kContext:
            return put(out, place.mapping ? nullptr : place.context);
        case kMemoryType:
            return put(out, unsigned{place.host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE});
        case kDevicePointer:
            return put(out, address);
        case kHostPointer:
            if (!place.host && !place.managed) return CUDA_ERROR_INVALID_VALUE;
            return put(out, address);
        case kSyncMemops:
        case kRdmaCapable:
        case kDecompress:
            return put(out, 0);
        case kBufferId:
        case kBlockId:
            return put(out, place.start);
        case kIsManaged:
            return put(out, place.managed ? 1 : 0);
        case kDeviceOrdinal:
            return put(out, place.device);
        case kIpcCapable:
            return put(out, place.plain ? 1 : 0);
        case kRangeStart:
        case kMappingBase:
            return put(out, place.start);
        case kRangeSize:
        case kMappingSize:
            return put(out, place.bytes);
        case kMapped:
            return put(out, 1);
        case kAllowedHandles:
            return put(out, std::uint64_t{0});
        case kAccessFlags:
            return put(out, kReadWrite);
        case kPool:
            return put(out, place.pool);
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

/// Of an address that the driver does not know, each attribute is nothing.
void tell_nothing(void* out, int attribute) {
    switch (attribute) {
        case kContext:
        case kDevicePointer:
        case kHostPointer:
        case kRangeStart:
        case kRangeSize:
        case kPool:
        case kMappingSize:
        case kMappingBase:
        case kBufferId:
        case kBlockId:
        case kAllowedHandles:
            (void)put(out, std::uint64_t{0});
            return;
        case kDeviceOrdinal:
            (void)put(out, -2);
            return;
        default:
            (void)put(out, 0);
            return;
    }
}

/// Managed memory moves at once; where it is does not change what is in it.
CUresult prefetch(CUdeviceptr address, std::size_t bytes, bool to_device, int ordinal,
                  CUstream stream, bool own_stream) {
    const Current current = current_context();
    if (!current) return current.result;
    if (stream_of(current.context, stream, own_stream) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const Place place = look_up(address);
    if (!place.managed || address + bytes > place.start + place.bytes) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Device* const owner = Driver::get().device_of(address);
    if (to_device && Driver::get().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    move_managed(*owner, address, to_device && owner->ordinal == ordinal);
    return CUDA_SUCCESS;
}

constexpr int kCpu = -1;

CUresult prefetch_to(CUdeviceptr address, std::size_t bytes, CUmemLocation location, unsigned flags,
                     CUstream stream, bool own_stream) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return prefetch(address, bytes, location.type == CU_MEM_LOCATION_TYPE_DEVICE, location.id,
                    stream, own_stream);
}

CUresult advise(CUdeviceptr address, std::size_t bytes, int advice) {
    constexpr int kLastAdvice = 6;
    const Current current = current_context();
    if (!current) return current.result;
    const Place place = look_up(address);
    const bool inside = place.managed && address + bytes <= place.start + place.bytes;
    return inside && advice >= 1 && advice <= kLastAdvice ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

extern "C" {

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    return data == nullptr ? CUDA_ERROR_INVALID_VALUE : tell(data, attribute, ptr);
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr ptr) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
        if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (tell(data[i], attributes[i], ptr) != CUDA_SUCCESS) tell_nothing(data[i], attributes[i]);
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr ptr) {
    called(__func__);
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    const bool settable = attribute == kSyncMemops && value != nullptr;
    return settable && look_up(ptr).known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

TWO_STREAMS(cuMemPrefetchAsync, _ptsz,
            (CUdeviceptr ptr, size_t bytes, CUdevice device, CUstream stream),
            prefetch(ptr, bytes, device != kCpu, device, stream, own_stream))
TWO_STREAMS(cuMemPrefetchAsync_v2, _ptsz,
            (CUdeviceptr ptr, size_t bytes, CUmemLocation location, unsigned int flags,
             CUstream stream),
            prefetch_to(ptr, bytes, location, flags, stream, own_stream))

CUresult cuMemAdvise(CUdeviceptr ptr, size_t bytes, int advice, CUdevice) {
    called(__func__);
    return advise(ptr, bytes, advice);
}

CUresult cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, int advice, CUmemLocation) {
    called(__func__);
    return advise(ptr, bytes, advice);
}

}  // extern "C"
