// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: physical memory by handle, mapped at addresses. It is given back when
// neither a handle nor a mapping is left: programs release the handle right after mapping it.
#include "guard/vmm.h"

#include "guard/exports.h"
#include "guard/memory.h"

namespace aliquot::guard {
namespace {

/// Physical memory. Lies in a table so that several handles can mean it.
struct Physical {
    std::uint64_t bytes;
    std::uint32_t handles;
    std::uint32_t mappings;
    std::uint32_t next_free;  // + 1; 0: none
    std::uint8_t place;
    bool charged;
};
constexpr std::uint32_t kMost = 1 << 20;

ThreadLock g_lock;  // for the physical memory and the tables' agreement with it
Physical* g_physical;
std::uint32_t g_made = 0;      // places ever used
std::uint32_t g_free = 0;      // + 1
constinit Records g_handles;   // by handle
constinit Records g_mappings;  // by address

std::uint32_t make_physical(const Physical& content) {
    if (g_physical == nullptr)
        g_physical =
            static_cast<Physical*>(kernel::map(kMost * sizeof(Physical), PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (g_physical == nullptr || (g_free == 0 && g_made == kMost)) return kNone;
    std::uint32_t index = g_made;
    if (g_free != 0) {
        index = g_free - 1;
        g_free = g_physical[index].next_free;
    } else {
        ++g_made;
    }
    g_physical[index] = content;
    return index;
}

/// Under the lock. returns bytes to give back
std::uint64_t drop_if_unused(std::uint32_t index, unsigned& place) {
    Physical& physical = g_physical[index];
    if (physical.handles != 0 || physical.mappings != 0) return 0;
    place = physical.place;
    const std::uint64_t bytes = physical.charged ? physical.bytes : 0;
    physical.next_free = g_free;
    g_free = index + 1;
    return bytes;
}

void remember_handle(std::uint64_t handle, const Physical& content) {
    const ThreadLocked locked(g_lock);
    Record record;
    record.kind = Kind::kHandle;
    record.extra = make_physical(content);
    if (record.extra != kNone && g_handles.put(handle, record)) return;
    // No memory for our books: the charge would never be given back.
    if (content.charged) g_ledger.shrink(content.place, content.bytes, Part::kTracked);
    g_ledger.remark(content.place, abi::kRemarkTableFull);
}

Physical one_handle(std::uint64_t bytes, unsigned place, bool charged) {
    Physical physical = {};
    physical.bytes = bytes;
    physical.handles = 1;
    physical.place = static_cast<std::uint8_t>(place);
    physical.charged = charged;
    return physical;
}

CUresult create(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                unsigned long long flags) {
    const auto call = [&] { return g_driver.cuMemCreate(handle, size, prop, flags); };
    const Inside inside;
    const bool on_device = inside && handle != nullptr && prop != nullptr && is_sensible(size) &&
                           prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    const unsigned place = on_device ? place_of_device(prop->location.id) : kNone;
    if (place == kNone) return call();
    if (!reserve(place, size)) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = call();
    if (result == CUDA_SUCCESS)
        remember_handle(*handle, one_handle(size, place, true));
    else
        g_ledger.shrink(place, size, Part::kTracked);
    return result;
}

template <class Call>
CUresult import_handle(CUmemGenericAllocationHandle* handle, Call call) {
    const Inside inside;
    const CUresult result = call();
    if (inside && result == CUDA_SUCCESS && handle != nullptr)
        remember_handle(*handle, one_handle(0, 0, false));
    return result;
}

/// Our books first: once the driver has released it, another thread may be given the same handle.
CUresult release_handle(CUmemGenericAllocationHandle handle) {
    const Inside inside;
    Record record;
    bool known = false;
    if (inside) {
        const ThreadLocked locked(g_lock);
        known = g_handles.look(handle, record);
        if (known && g_physical[record.extra].handles != 0) --g_physical[record.extra].handles;
        if (known && g_physical[record.extra].handles == 0) g_handles.take(handle, record);
    }
    const CUresult result = g_driver.cuMemRelease(handle);
    if (!known) return result;
    std::uint64_t bytes = 0;
    unsigned place = 0;
    {
        const ThreadLocked locked(g_lock);
        if (result == CUDA_SUCCESS) {
            bytes = drop_if_unused(record.extra, place);
        } else {
            ++g_physical[record.extra].handles;
            g_handles.put(handle, record);
        }
    }
    if (bytes != 0) g_ledger.shrink(place, bytes, Part::kTracked);
    return result;
}

CUresult map_handle(CUdeviceptr ptr, size_t size, size_t offset,
                    CUmemGenericAllocationHandle handle, unsigned long long flags) {
    const Inside inside;
    const CUresult result = g_driver.cuMemMap(ptr, size, offset, handle, flags);
    if (!inside || result != CUDA_SUCCESS) return result;
    const ThreadLocked locked(g_lock);
    Record record;
    if (!g_handles.look(handle, record)) return result;
    record.kind = Kind::kMapping;
    record.bytes = size;
    if (g_mappings.put(ptr, record)) ++g_physical[record.extra].mappings;
    return result;
}

CUresult unmap_range(CUdeviceptr ptr, size_t size) {
    const Inside inside;
    const CUresult result = g_driver.cuMemUnmap(ptr, size);
    if (!inside || result != CUDA_SUCCESS) return result;
    // The range may be that of several mappings, one after the other.
    for (std::uint64_t at = ptr; at < ptr + size;) {
        std::uint64_t bytes = 0;
        unsigned place = 0;
        {
            const ThreadLocked locked(g_lock);
            Record record;
            if (!g_mappings.take(at, record) || record.bytes == 0) break;
            at += record.bytes;
            Physical& physical = g_physical[record.extra];
            if (physical.mappings != 0) --physical.mappings;
            bytes = drop_if_unused(record.extra, place);
        }
        if (bytes != 0) g_ledger.shrink(place, bytes, Part::kTracked);
    }
    return result;
}

/// The handle may be a new one for memory whose old handles are gone.
CUresult retain(CUmemGenericAllocationHandle* handle, void* address) {
    const Inside inside;
    const CUresult result = g_driver.cuMemRetainAllocationHandle(handle, address);
    if (!inside || result != CUDA_SUCCESS || handle == nullptr) return result;
    const ThreadLocked locked(g_lock);
    Record record;
    bool known = g_handles.look(*handle, record);
    if (!known && g_mappings.look(reinterpret_cast<std::uintptr_t>(address), record)) {
        record.kind = Kind::kHandle;
        known = g_handles.put(*handle, record);
    }
    if (known) ++g_physical[record.extra].handles;
    return result;
}

}  // namespace

void forget_vmm() {
    g_lock.forget();
    g_handles.forget();
    g_mappings.forget();
    if (g_physical != nullptr) kernel::unmap(g_physical, kMost * sizeof(Physical));
    g_physical = nullptr;
    g_made = 0;
    g_free = 0;
}

}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT(cuMemCreate)
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
    return guarded() ? create(handle, size, prop, flags)
                     : g_driver.cuMemCreate(handle, size, prop, flags);
}

GUARD_EXPORT(cuMemRelease) CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    return guarded() ? release_handle(handle) : g_driver.cuMemRelease(handle);
}

GUARD_EXPORT(cuMemRetainAllocationHandle)
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
    return guarded() ? retain(handle, addr) : g_driver.cuMemRetainAllocationHandle(handle, addr);
}

GUARD_EXPORT(cuMemMap)
CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
    return guarded() ? map_handle(ptr, size, offset, handle, flags)
                     : g_driver.cuMemMap(ptr, size, offset, handle, flags);
}

GUARD_EXPORT(cuMemUnmap) CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
    return guarded() ? unmap_range(ptr, size) : g_driver.cuMemUnmap(ptr, size);
}

GUARD_EXPORT(cuMemImportFromShareableHandle)
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType type) {
    const auto call = [&] {
        return g_driver.cuMemImportFromShareableHandle(handle, osHandle, type);
    };
    return guarded() ? import_handle(handle, call) : call();
}

GUARD_EXPORT(cuMulticastCreate)
CUresult cuMulticastCreate(CUmemGenericAllocationHandle* handle,
                           const CUmulticastObjectProp* prop) {
    const auto call = [&] { return g_driver.cuMulticastCreate(handle, prop); };
    return guarded() ? import_handle(handle, call) : call();
}
