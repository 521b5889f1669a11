// SPDX-License-Identifier: Apache-2.0
#include "guard/pools.h"

#include "guard/exports.h"
#include "guard/graphs.h"
#include "guard/memory.h"
#include "guard/truth.h"

namespace aliquot::guard {
namespace {

struct Pool {
    CUmemoryPool handle;    // nullptr: a free place
    std::uint64_t live;     // bytes of its pointers
    std::uint64_t charged;  // in the ledger
    std::uint8_t place;
    bool charges;  // false: another process' memory, or the host's
};
constexpr unsigned kMost = 256;
constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
constexpr std::uint64_t kChunk = std::uint64_t{32} << 20;
constexpr std::uint64_t kBetween = 10'000'000;

ThreadLock g_lock;  // for g_pools; the ledger's lock may be taken inside
constinit Pool g_pools[kMost] = {};
std::atomic<unsigned> g_high{0};
std::atomic<bool> g_changed{false};
std::atomic<std::uint64_t> g_settled_ns{0};

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/// The place of a pool in the table; kNone: the table is full. Under the lock.
unsigned enter(CUmemoryPool handle, unsigned place, bool charges) {
    unsigned free = kNone;
    for (unsigned i = 0; i < g_high.load(std::memory_order_relaxed); ++i) {
        if (g_pools[i].handle == handle) return i;
        if (g_pools[i].handle == nullptr && free == kNone) free = i;
    }
    if (free == kNone && g_high < kMost) free = g_high++;
    if (free == kNone) return kNone;
    g_pools[free] = Pool{handle, 0, 0, static_cast<std::uint8_t>(place), charges};
    return free;
}

/// Under the lock: the pool is to be charged with so much.
void charge(Pool& pool, std::uint64_t bytes) {
    if (bytes > pool.charged)
        g_ledger.force(pool.place, bytes - pool.charged, Part::kTracked);
    else if (bytes < pool.charged)
        g_ledger.shrink(pool.place, pool.charged - bytes, Part::kTracked);
    pool.charged = bytes;
}

void settle(unsigned index) {
    CUmemoryPool handle = nullptr;
    {
        const ThreadLocked locked(g_lock);
        if (g_pools[index].charges) handle = g_pools[index].handle;
    }
    cuuint64_t reserved = 0;
    if (handle == nullptr ||
        g_driver.cuMemPoolGetAttribute(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved) !=
            CUDA_SUCCESS)
        return;
    const ThreadLocked locked(g_lock);
    Pool& pool = g_pools[index];
    if (pool.handle == handle) charge(pool, reserved > pool.live ? reserved : pool.live);
}

/// Room for `bytes` more in the pool: what it has spare, or more of the limit.
bool reserve_in_pool(unsigned index, std::uint64_t bytes) {
    const ThreadLocked locked(g_lock);
    Pool& pool = g_pools[index];
    if (pool.charges && pool.live + bytes > pool.charged) {
        const std::uint64_t missing = pool.live + bytes - pool.charged;
        std::uint64_t more = round_up(missing, kChunk);
        if (!g_ledger.grow(pool.place, more, Part::kTracked)) {
            more = round_up(missing, kPage);
            if (!g_ledger.grow(pool.place, more, Part::kTracked)) return false;
        }
        pool.charged += more;
    }
    pool.live += bytes;
    return true;
}

template <class Call>
CUresult allocate(CUdeviceptr* dptr, std::uint64_t wanted, CUmemoryPool handle, unsigned place,
                  Call call) {
    unsigned index = 0;
    {
        const ThreadLocked locked(g_lock);
        index = enter(handle, place, true);
    }
    if (index == kNone) {
        g_ledger.remark(place, abi::kRemarkTableFull);
        return call();
    }
    Record record;
    record.kind = Kind::kPool;
    record.extra = index;
    record.place = static_cast<std::uint8_t>(place);
    record.bytes = round_up(wanted, 512);
    bool granted = reserve_in_pool(index, record.bytes);
    if (!granted) {
        g_ledger.reap();
        settle_pools();
        measure_self(place, true);
        granted = reserve_in_pool(index, record.bytes);
    }
    if (!granted) {
        g_ledger.note_denied(place, record.bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const CUresult result = call();
    if (result != CUDA_SUCCESS || !g_memory.add(*dptr, record))
        give_back_to_pool(index, record.bytes);
    return result;
}

/// Whether the guard has a say in this one; `place` is then the current device's.
bool concerns(const CUdeviceptr* dptr, std::uint64_t wanted, unsigned& place) {
    if (dptr == nullptr || !is_sensible(wanted)) return false;
    place = current_place();
    return place != kNone;
}

template <class Call>
CUresult allocate_on_stream(CUdeviceptr* dptr, std::uint64_t wanted, CUstream stream,
                            bool per_thread, CUmemoryPool pool, Call call) {
    const Inside inside;
    unsigned place = 0;
    if (!inside || !concerns(dptr, wanted, place)) return call();
    if (is_capturing(stream, per_thread)) {
        const CUresult result = call();
        if (result == CUDA_SUCCESS) note_captured_memory(stream, wanted, place);
        return result;
    }
    if (pool == nullptr) {
        CUdevice device = 0;
        if (g_driver.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
            g_driver.cuDeviceGetMemPool(&pool, device) != CUDA_SUCCESS)
            return call();
    }
    return allocate(dptr, wanted, pool, place, call);
}

template <class Call>
CUresult create(CUmemoryPool* pool, unsigned place, bool charges, Call call) {
    const Inside inside;
    const CUresult result = call();
    if (!inside || result != CUDA_SUCCESS || pool == nullptr) return result;
    const ThreadLocked locked(g_lock);
    enter(*pool, place, charges && place != kNone);
    return result;
}

CUresult destroy(CUmemoryPool handle) {
    const Inside inside;
    const CUresult result = g_driver.cuMemPoolDestroy(handle);
    if (!inside || result != CUDA_SUCCESS) return result;
    const ThreadLocked locked(g_lock);
    for (unsigned i = 0; i < g_high.load(std::memory_order_relaxed); ++i) {
        if (g_pools[i].handle != handle) continue;
        charge(g_pools[i], 0);
        g_pools[i] = Pool{};
    }
    return result;
}

}  // namespace

void give_back_to_pool(std::uint32_t pool, std::uint64_t bytes) {
    const ThreadLocked locked(g_lock);
    if (pool >= kMost) return;
    std::uint64_t& live = g_pools[pool].live;
    live = bytes < live ? live - bytes : 0;
    g_changed.store(true, std::memory_order_relaxed);
}

void settle_pools() {
    g_settled_ns.store(kernel::now_ns(), std::memory_order_relaxed);
    g_changed.store(false, std::memory_order_relaxed);
    const CaptureRelaxed relaxed;
    const unsigned high = g_high.load(std::memory_order_relaxed);
    for (unsigned i = 0; i < high; ++i) settle(i);
    settle_graph_memory();
}

bool has_changed_pools() { return g_changed.load(std::memory_order_relaxed) || has_graph_memory(); }

void note_synchronised() {
    if (!has_changed_pools()) return;
    if (kernel::now_ns() - g_settled_ns.load(std::memory_order_relaxed) >= kBetween) settle_pools();
}

void forget_pools() {
    g_lock.forget();
    for (Pool& pool : g_pools) pool = Pool{};
    g_high.store(0, std::memory_order_relaxed);
    forget_graphs();
}

}  // namespace aliquot::guard

using namespace aliquot::guard;

GUARD_EXPORT(cuMemAllocAsync)
CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytes, CUstream stream) {
    const auto call = [&] { return g_driver.cuMemAllocAsync(dptr, bytes, stream); };
    return guarded() ? allocate_on_stream(dptr, bytes, stream, false, nullptr, call) : call();
}

GUARD_EXPORT(cuMemAllocAsync_ptsz)
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* dptr, size_t bytes, CUstream stream) {
    const auto call = [&] { return g_driver.cuMemAllocAsync_ptsz(dptr, bytes, stream); };
    return guarded() ? allocate_on_stream(dptr, bytes, stream, true, nullptr, call) : call();
}

GUARD_EXPORT(cuMemAllocFromPoolAsync)
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
    const auto call = [&] { return g_driver.cuMemAllocFromPoolAsync(dptr, bytes, pool, stream); };
    return guarded() && pool != nullptr ? allocate_on_stream(dptr, bytes, stream, false, pool, call)
                                        : call();
}

GUARD_EXPORT(cuMemAllocFromPoolAsync_ptsz)
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* dptr, size_t bytes, CUmemoryPool pool,
                                      CUstream stream) {
    const auto call = [&] {
        return g_driver.cuMemAllocFromPoolAsync_ptsz(dptr, bytes, pool, stream);
    };
    return guarded() && pool != nullptr ? allocate_on_stream(dptr, bytes, stream, true, pool, call)
                                        : call();
}

GUARD_EXPORT(cuMemPoolCreate)
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
    const auto call = [&] { return g_driver.cuMemPoolCreate(pool, props); };
    if (!guarded() || props == nullptr) return call();
    const bool on_device = props->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    const unsigned place = on_device ? place_of_device(props->location.id) : kNone;
    return create(pool, place, on_device, call);
}

GUARD_EXPORT(cuMemPoolImportFromShareableHandle)
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
    const auto call = [&] {
        return g_driver.cuMemPoolImportFromShareableHandle(pool, handle, type, flags);
    };
    return guarded() ? create(pool, kNone, false, call) : call();
}

GUARD_EXPORT(cuMemPoolDestroy) CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    return guarded() ? destroy(pool) : g_driver.cuMemPoolDestroy(pool);
}

GUARD_EXPORT(cuMemPoolTrimTo) CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = g_driver.cuMemPoolTrimTo(pool, minBytesToKeep);
    if (ours && inside && result == CUDA_SUCCESS) settle_pools();
    return result;
}

GUARD_EXPORT(cuMemPoolSetAttribute)
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
    const bool ours = guarded();
    const Inside inside;
    const CUresult result = g_driver.cuMemPoolSetAttribute(pool, attribute, value);
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
