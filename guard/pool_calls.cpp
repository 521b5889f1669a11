// SPDX-License-Identifier: Apache-2.0
// Entry points of stream-ordered memory.
#include "guard/exports.h"
#include "guard/graphs.h"
#include "guard/memory.h"
#include "guard/pools.h"
#include "guard/truth.h"

namespace aliquot::guard {
namespace {

/// The place of a pool on a device that has none in the ledger.
constexpr unsigned kUnplaced = abi::kRegionDevices;

/// The device of a stream: not always the current context's. Below 0: there is none.
CUdevice device_of_stream(CUstream stream) {
    CUdevice device = -1;
    if (reinterpret_cast<std::uintptr_t>(stream) > CU_STREAM_PER_THREAD_VALUE) {
        const CaptureRelaxed relaxed;
        if (g_driver.cuStreamGetDevice(stream, &device) == CUDA_SUCCESS && device >= 0)
            return device;
        CUcontext before = nullptr;
        CUcontext own = nullptr;
        if (g_driver.cuStreamGetCtx(stream, &own) == CUDA_SUCCESS && own != nullptr &&
            g_driver.cuCtxGetCurrent(&before) == CUDA_SUCCESS && own != before &&
            g_driver.cuCtxSetCurrent(own) == CUDA_SUCCESS) {
            const bool known = g_driver.cuCtxGetDevice(&device) == CUDA_SUCCESS;
            g_driver.cuCtxSetCurrent(before);
            if (known && device >= 0) return device;
        }
    }
    return g_driver.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

/// The books of a pool that nobody has seen made: a device's default or current one, or the
/// stream's device's by assumption.
std::uint32_t meet_pool(CUmemoryPool pool, unsigned place) {
    int count = 0;
    if (g_driver.cuDeviceGetCount(&count) != CUDA_SUCCESS) count = 0;
    for (CUdevice device = 0; device < count; ++device) {
        CUmemoryPool of_device = nullptr;
        const bool found =
            (g_driver.cuDeviceGetDefaultMemPool(&of_device, device) == CUDA_SUCCESS &&
             of_device == pool) ||
            (g_driver.cuDeviceGetMemPool(&of_device, device) == CUDA_SUCCESS && of_device == pool);
        if (!found) continue;
        place = place_of_device(device);
        break;
    }
    return enter_pool(pool, place == kNone ? kUnplaced : place, place != kNone);
}

/// What one allocation is about.
struct Wanted {
    CUdeviceptr* pointer;
    std::uint64_t bytes;
    CUmemoryPool handle;
    std::uint32_t pool;
    unsigned place;
    std::uint64_t stream;  // stream_key()
};

/// Makes the call for which there is room.
template <class Call>
CUresult allocate_granted(const Wanted& wanted, std::uint64_t reserved, Call call) {
    const CUresult result = call();
    allocated_in_pool(wanted.pool, reserved, wanted.bytes, wanted.stream,
                      result == CUDA_SUCCESS ? wanted.pointer : nullptr);
    if (result != CUDA_SUCCESS) return result;
    Record record;
    record.kind = Kind::kPool;
    record.extra = wanted.pool;
    record.place = static_cast<std::uint8_t>(wanted.place);
    record.bytes = wanted.bytes;
    if (!g_memory.add(*wanted.pointer, record)) {
        give_back_to_pool(wanted.pool, *wanted.pointer, wanted.bytes, 0);
        g_ledger.remark(wanted.place, abi::kRemarkTableFull);
    }
    return result;
}

/// Within the limit only if the driver gives this stream what it has freed itself. Whether it has is
/// known afterwards.
/// returns  false: it has not; the pointer is what it was
template <class Call, class Free>
bool allocate_again(const Wanted& wanted, Call call, Free free, CUresult& result) {
    if (!may_have_again(wanted.pool, wanted.bytes, wanted.stream, true)) return false;
    const PoolKept kept(wanted.handle);
    settle_pool(wanted.pool);
    const std::uint64_t held = held_by_pool(wanted.pool);
    if (!may_have_again(wanted.pool, wanted.bytes, wanted.stream, kept.would_keep(held)))
        return false;
    const CUdeviceptr before = *wanted.pointer;
    result = allocate_granted(wanted, 0, call);
    settle_pool(wanted.pool);
    const bool grown = held_by_pool(wanted.pool) > held;
    const std::uint64_t limit = g_ledger.device(wanted.place).memory_limit();
    if (result != CUDA_SUCCESS || !grown || g_ledger.used(wanted.place) <= limit) return true;
    distrust_pools();
    Record record;
    g_memory.take(*wanted.pointer, record);
    free(*wanted.pointer);
    give_back_to_pool(wanted.pool, *wanted.pointer, wanted.bytes, 0);
    *wanted.pointer = before;
    return false;
}

template <class Call, class Free>
CUresult allocate(const Wanted& wanted, Call call, Free free) {
    const bool again = may_reuse(wanted.pool, wanted.bytes);
    if (again) settle_pool(wanted.pool);
    if (const std::uint64_t reserved = reserve_in_pool(wanted.pool, wanted.bytes)) {
        const CUresult result = allocate_granted(wanted, reserved, call);
        if (again) settle_pool(wanted.pool);
        return result;
    }
    g_ledger.reap();
    settle_pools();
    measure_self(wanted.place, true);
    if (const std::uint64_t reserved = reserve_in_pool(wanted.pool, wanted.bytes))
        return allocate_granted(wanted, reserved, call);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (allocate_again(wanted, call, free, result)) return result;
    squeeze(wanted.place);
    bool guessed = false;
    if (const std::uint64_t reserved = reserve_in_pool(wanted.pool, wanted.bytes, &guessed)) {
        result = allocate_granted(wanted, reserved, call);
        if (guessed) end_guess(wanted.pool);
        return result;
    }
    g_ledger.note_denied(wanted.place, wanted.bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

template <class Call, class Free>
CUresult allocate_on_stream(CUdeviceptr* dptr, std::uint64_t wanted, CUstream stream,
                            bool per_thread, CUmemoryPool pool, Call call, Free free) {
    const Inside inside;
    if (!inside || dptr == nullptr || !is_sensible(wanted)) return call();
    const CUdevice device = device_of_stream(stream);
    if (device < 0) return call();
    const unsigned place = place_of_device(device);
    if (is_capturing(stream, per_thread)) {
        const CUresult result = call();
        if (result == CUDA_SUCCESS && place != kNone) note_captured_memory(stream, wanted, place);
        return result;
    }
    if (pool == nullptr && g_driver.cuDeviceGetMemPool(&pool, device) != CUDA_SUCCESS)
        return call();
    std::uint32_t index = find_pool(pool);
    if (index == kNone) index = meet_pool(pool, place);
    if (index == kNone) return refuse_uncounted(wanted) ? CUDA_ERROR_OUT_OF_MEMORY : call();
    const PoolPlace where = place_of_pool(index);
    if (!where.charges) {
        const bool uncounted = where.place == kUnplaced && refuse_uncounted(wanted);
        return uncounted ? CUDA_ERROR_OUT_OF_MEMORY : call();
    }
    return allocate({dptr, (wanted + 511) / 512 * 512, pool, index, where.place,
                     stream_key(stream, per_thread)},
                    call, free);
}

template <class Call>
CUresult create(CUmemoryPool* pool, const CUmemLocation& location, Call call) {
    const Inside inside;
    const CUresult result = call();
    if (!inside || result != CUDA_SUCCESS || pool == nullptr) return result;
    const bool on_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    const unsigned place = on_device ? place_of_device(location.id) : 0;
    enter_pool(*pool, place == kNone ? kUnplaced : place, on_device && place != kNone);
    return result;
}

/// The default or current pool of a location. Memory of the host, and managed memory that lies where
/// it is used, is no memory of a GPU.
template <class Call>
CUresult ask_for_pool(CUmemoryPool* pool, const CUmemLocation* location, CUmemAllocationType type,
                      Call call) {
    if (!guarded() || location == nullptr) return call();
    CUmemLocation counted = *location;
    if (type != CU_MEM_ALLOCATION_TYPE_PINNED) counted.type = CU_MEM_LOCATION_TYPE_HOST;
    return create(pool, counted, call);
}

CUresult destroy(CUmemoryPool handle) {
    const Inside inside;
    const std::uint32_t index = inside ? find_pool(handle) : kNone;
    if (index == kNone) return g_driver.cuMemPoolDestroy(handle);
    settle_pool(index);
    close_pool(index);
    const CUresult result = g_driver.cuMemPoolDestroy(handle);
    if (result == CUDA_SUCCESS)
        end_pool(index);
    else
        reopen_pool(index);
    return result;
}

}  // namespace
}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT(cuMemAllocAsync)
CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytes, CUstream stream) {
    const auto call = [&] { return g_driver.cuMemAllocAsync(dptr, bytes, stream); };
    const auto free = [&](CUdeviceptr p) { g_driver.cuMemFreeAsync(p, stream); };
    return guarded() ? allocate_on_stream(dptr, bytes, stream, false, nullptr, call, free) : call();
}

GUARD_EXPORT(cuMemAllocAsync_ptsz)
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* dptr, size_t bytes, CUstream stream) {
    const auto call = [&] { return g_driver.cuMemAllocAsync_ptsz(dptr, bytes, stream); };
    const auto free = [&](CUdeviceptr p) { g_driver.cuMemFreeAsync_ptsz(p, stream); };
    return guarded() ? allocate_on_stream(dptr, bytes, stream, true, nullptr, call, free) : call();
}

GUARD_EXPORT(cuMemAllocFromPoolAsync)
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
    const auto call = [&] { return g_driver.cuMemAllocFromPoolAsync(dptr, bytes, pool, stream); };
    const auto free = [&](CUdeviceptr p) { g_driver.cuMemFreeAsync(p, stream); };
    return guarded() && pool != nullptr
               ? allocate_on_stream(dptr, bytes, stream, false, pool, call, free)
               : call();
}

GUARD_EXPORT(cuMemAllocFromPoolAsync_ptsz)
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* dptr, size_t bytes, CUmemoryPool pool,
                                      CUstream stream) {
    const auto call = [&] {
        return g_driver.cuMemAllocFromPoolAsync_ptsz(dptr, bytes, pool, stream);
    };
    const auto free = [&](CUdeviceptr p) { g_driver.cuMemFreeAsync_ptsz(p, stream); };
    return guarded() && pool != nullptr
               ? allocate_on_stream(dptr, bytes, stream, true, pool, call, free)
               : call();
}

GUARD_EXPORT(cuMemPoolCreate)
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
    const auto call = [&] { return g_driver.cuMemPoolCreate(pool, props); };
    if (!guarded() || props == nullptr) return call();
    return create(pool, props->location, call);
}

GUARD_EXPORT(cuMemGetDefaultMemPool)
CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
    return ask_for_pool(pool, location, type,
                        [&] { return g_driver.cuMemGetDefaultMemPool(pool, location, type); });
}

GUARD_EXPORT(cuMemGetMemPool)
CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
    return ask_for_pool(pool, location, type,
                        [&] { return g_driver.cuMemGetMemPool(pool, location, type); });
}

GUARD_EXPORT(cuMemPoolImportFromShareableHandle)
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
    const auto call = [&] {
        return g_driver.cuMemPoolImportFromShareableHandle(pool, handle, type, flags);
    };
    return guarded() ? create(pool, CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, 0}, call) : call();
}

GUARD_EXPORT(cuMemPoolDestroy) CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    return guarded() ? destroy(pool) : g_driver.cuMemPoolDestroy(pool);
}

GUARD_EXPORT(cuMemPoolTrimTo) CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = [&] {
        const PoolKept others(nullptr);
        return g_driver.cuMemPoolTrimTo(pool, minBytesToKeep);
    }();
    if (ours && inside && result == CUDA_SUCCESS) settle_pools();
    return result;
}

GUARD_EXPORT(cuMemPoolSetAttribute)
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = [&] {
        const PoolKept others(nullptr);
        return g_driver.cuMemPoolSetAttribute(pool, attribute, value);
    }();
    if (ours && inside && result == CUDA_SUCCESS) settle_pools();
    return result;
}

GUARD_EXPORT(cuMemPoolImportPointer)
CUresult cuMemPoolImportPointer(CUdeviceptr* ptr, CUmemoryPool pool, CUmemPoolPtrExportData* data) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = g_driver.cuMemPoolImportPointer(ptr, pool, data);
    if (ours && inside && result == CUDA_SUCCESS && ptr != nullptr) {
        Record record;
        record.kind = Kind::kImported;
        g_memory.put(*ptr, record);
    }
    return result;
}
