// SPDX-License-Identifier: Apache-2.0
// Entry points of virtual memory management.
#include "guard/exports.h"
#include "guard/leaving.h"
#include "guard/memory.h"
#include "guard/vmm.h"

namespace aliquot::guard {
namespace {

CUresult create(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                unsigned long long flags) {
    const auto call = [&] { return g_driver.cuMemCreate(handle, size, prop, flags); };
    const Inside inside;
    const bool on_device = inside && handle != nullptr && prop != nullptr && is_sensible(size) &&
                           prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (!on_device) return call();
    const unsigned place = place_of_device(prop->location.id);
    if (place == kNone) return refuse_uncounted(size) ? CUDA_ERROR_OUT_OF_MEMORY : call();
    if (!reserve(place, size)) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = call();
    if (result == CUDA_SUCCESS)
        remember_handle(*handle, size, place, true);
    else
        g_ledger.shrink(place, size, Part::kTracked);
    return result;
}

CUresult release_handle(CUmemGenericAllocationHandle handle) {
    const Inside inside;
    const PhysicalIndex physical = inside ? take_handle(handle) : kNone;
    const CUresult result = g_driver.cuMemRelease(handle);
    if (physical == kNone) return result;
    if (result != CUDA_SUCCESS) share_handle(handle, physical);
    let_go(physical);
    return result;
}

CUresult map_handle(CUdeviceptr ptr, size_t size, size_t offset,
                    CUmemGenericAllocationHandle handle, unsigned long long flags) {
    const Inside inside;
    const PhysicalIndex physical = inside ? hold_handle(handle) : kNone;
    const CUresult result = g_driver.cuMemMap(ptr, size, offset, handle, flags);
    if (physical == kNone) return result;
    if (result == CUDA_SUCCESS) note_mapping(physical, ptr, size);
    let_go(physical);
    return result;
}

/// Our books first: once the driver has unmapped it, another thread may map something there.
CUresult unmap_range(CUdeviceptr ptr, size_t size) {
    const Inside inside;
    if (!inside) return g_driver.cuMemUnmap(ptr, size);
    TakenMapping few[64];
    const std::size_t wanted = count_mappings(ptr, size);
    const std::size_t bytes = wanted * sizeof(TakenMapping);
    TakenMapping* taken = few;
    if (wanted > sizeof few / sizeof few[0])
        taken = static_cast<TakenMapping*>(
            kernel::map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (taken == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    const std::size_t room = taken == few ? sizeof few / sizeof few[0] : wanted;
    const std::size_t count = take_mappings(ptr, size, taken, room);
    const CUresult result = g_driver.cuMemUnmap(ptr, size);
    for (std::size_t i = 0; i < count; ++i) end_mapping(taken[i], result == CUDA_SUCCESS);
    if (taken != few) kernel::unmap(taken, bytes);
    return result;
}

/// The handle may be a new one for memory whose old handles are gone.
CUresult retain(CUmemGenericAllocationHandle* handle, void* address) {
    const Inside inside;
    PhysicalIndex physical =
        inside ? hold_mapped(reinterpret_cast<std::uintptr_t>(address)) : kNone;
    const CUresult result = g_driver.cuMemRetainAllocationHandle(handle, address);
    if (inside && result == CUDA_SUCCESS && handle != nullptr) {
        if (physical == kNone) physical = hold_handle(*handle);
        if (physical != kNone) share_handle(*handle, physical);
    }
    let_go(physical);
    return result;
}

CUresult import_handle(CUmemGenericAllocationHandle* handle, void* exported,
                       CUmemAllocationHandleType type) {
    const Inside inside;
    const PhysicalIndex physical = inside ? hold_exported(type, exported) : kNone;
    const CUresult result = g_driver.cuMemImportFromShareableHandle(handle, exported, type);
    if (inside && result == CUDA_SUCCESS && handle != nullptr) {
        if (physical != kNone)
            share_handle(*handle, physical);
        else
            remember_handle(*handle, 0, 0, false);  // another process' memory
    }
    let_go(physical);
    return result;
}

CUresult export_handle(void* exported, CUmemGenericAllocationHandle handle,
                       CUmemAllocationHandleType type, unsigned long long flags) {
    const Inside inside;
    const PhysicalIndex physical = inside ? hold_handle(handle) : kNone;
    const CUresult result = g_driver.cuMemExportToShareableHandle(exported, handle, type, flags);
    if (physical != kNone && result == CUDA_SUCCESS && exported != nullptr)
        note_export(physical, type, exported);
    let_go(physical);
    return result;
}

/// Mapped parts of arrays keep their memory; from before the call, so that no release in another
/// thread comes between.
template <class Call>
CUresult map_array(const CUarrayMapInfo* list, unsigned count, CUstream stream, bool per_thread,
                   Call call) {
    const bool ours = guarded();
    const Inside inside;
    if (!ours || !inside || list == nullptr) return call();
    const auto is = [&](unsigned i, int operation) {
        return list[i].memOperationType == operation;
    };
    for (unsigned i = 0; i < count; ++i)
        if (is(i, CU_MEM_OPERATION_TYPE_MAP)) note_array_mapping(list[i]);
    const CUresult result = call();
    const bool done = result == CUDA_SUCCESS;
    PhysicalIndex parts[kMostLeavingAtOnce];
    unsigned some = 0;
    for (unsigned i = 0; i < count; ++i) {
        if (!is(i, done ? CU_MEM_OPERATION_TYPE_UNMAP : CU_MEM_OPERATION_TYPE_MAP)) continue;
        const PhysicalIndex part = take_array_mapping(list[i]);
        if (!done) let_go(part);
        if (!done || part == kNone) continue;
        parts[some++] = part;
        if (some < kMostLeavingAtOnce) continue;
        leave_behind(parts, some, stream, per_thread);
        some = 0;
    }
    if (some != 0) leave_behind(parts, some, stream, per_thread);
    return result;
}

template <class Call>
CUresult bind(CUmemGenericAllocationHandle multicast, std::uint64_t offset, PhysicalIndex memory,
              Call call) {
    const CUresult result = call();
    if (memory != kNone && result == CUDA_SUCCESS) note_binding(multicast, offset, memory);
    let_go(memory);
    return result;
}

}  // namespace
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

GUARD_EXPORT(cuMemMapArrayAsync)
CUresult cuMemMapArrayAsync(CUarrayMapInfo* mappings, unsigned int count, CUstream stream) {
    return map_array(mappings, count, stream, false,
                     [&] { return g_driver.cuMemMapArrayAsync(mappings, count, stream); });
}

GUARD_EXPORT(cuMemMapArrayAsync_ptsz)
CUresult cuMemMapArrayAsync_ptsz(CUarrayMapInfo* mappings, unsigned int count, CUstream stream) {
    return map_array(mappings, count, stream, true,
                     [&] { return g_driver.cuMemMapArrayAsync_ptsz(mappings, count, stream); });
}

GUARD_EXPORT(cuMemExportToShareableHandle)
CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
    return guarded() ? export_handle(shareable, handle, type, flags)
                     : g_driver.cuMemExportToShareableHandle(shareable, handle, type, flags);
}

GUARD_EXPORT(cuMemImportFromShareableHandle)
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType type) {
    return guarded() ? import_handle(handle, osHandle, type)
                     : g_driver.cuMemImportFromShareableHandle(handle, osHandle, type);
}

GUARD_EXPORT(cuMulticastCreate)
CUresult cuMulticastCreate(CUmemGenericAllocationHandle* handle,
                           const CUmulticastObjectProp* prop) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = g_driver.cuMulticastCreate(handle, prop);
    if (ours && inside && result == CUDA_SUCCESS) remember_handle(*handle, 0, 0, false);
    return result;
}

GUARD_EXPORT(cuMulticastBindMem)
CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset,
                            CUmemGenericAllocationHandle memory, size_t memory_offset, size_t size,
                            unsigned long long flags) {
    const bool ours = guarded();
    const Inside inside;
    return bind(handle, offset, ours && inside ? hold_handle(memory) : kNone, [&] {
        return g_driver.cuMulticastBindMem(handle, offset, memory, memory_offset, size, flags);
    });
}

GUARD_EXPORT(cuMulticastBindAddr)
CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset,
                             CUdeviceptr address, size_t size, unsigned long long flags) {
    const bool ours = guarded();
    const Inside inside;
    return bind(handle, offset, ours && inside ? hold_mapped(address) : kNone,
                [&] { return g_driver.cuMulticastBindAddr(handle, offset, address, size, flags); });
}

GUARD_EXPORT(cuMulticastUnbind)
CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice device, size_t offset,
                           size_t size) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = g_driver.cuMulticastUnbind(handle, device, offset, size);
    if (ours && inside && result == CUDA_SUCCESS)
        drop_bindings(handle, place_of_device(device), offset, size);
    return result;
}
