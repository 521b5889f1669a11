// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/ranges.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kChunkBytes = 32ULL << 20;  // by which pools grow

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/// Under the device's lock.
void trim(CUmemPoolHandle_st& pool, std::uint64_t keep_bytes) {
    Device& device = *pool.device;
    Heap& heap = *pool.heap;
    while (heap.reserved_bytes() > keep_bytes) {
        const std::uint64_t address = heap.empty_chunk();
        if (address == 0) return;
        const std::uint64_t span = device.arena.blocks_at(address)->span;
        if (heap.reserved_bytes() - span < keep_bytes) return;
        heap.remove_chunk(address);
        device.arena.give_blocks(address);
        device.account.shrink(span);
    }
}

/// A pool that was destroyed goes with its last allocation.
void end_if_over(CUmemPoolHandle_st& pool) {
    if (!pool.destroyed || pool.live > 0) return;
    if (pool.heap) {
        trim(pool, 0);
        pool.device->pools[pool.heap->id()] = nullptr;
    }
    if (pool.shared_file >= 0) ::close(pool.shared_file);
    objects<CUmemPoolHandle_st>().destroy(&pool);
}

}  // namespace

CUresult check(CUmemoryPool pool) {
    if (const auto result = needs_init(); result != CUDA_SUCCESS) return result;
    return valid(pool) && !pool->destroyed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUmemPoolHandle_st* make_pool(Device& device, const CUmemPoolProps& props) {
    const std::lock_guard lock(device.mutex);
    CUmemPoolHandle_st* const pool = objects<CUmemPoolHandle_st>().make();
    pool->device = &device;
    pool->props = props;
    if (pool->props.allocType == 0) {
        pool->is_default = true;
        pool->props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        pool->props.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device.ordinal};
    }
    constexpr std::size_t kFirst = 2;  // 0 is no heap, 1 that of small allocations
    std::size_t id = kFirst;
    while (id < device.pools.size() && device.pools[id] != nullptr) ++id;
    if (id == device.pools.size()) device.pools.push_back(nullptr);
    device.pools[id] = pool;
    pool->heap = std::make_unique<Heap>(device.arena, static_cast<std::uint16_t>(id));
    return pool;
}

CUmemPoolHandle_st* make_host_pool(Device& any, const CUmemPoolProps& props) {
    const std::lock_guard lock(any.mutex);
    CUmemPoolHandle_st* const pool = objects<CUmemPoolHandle_st>().make();
    pool->device = &any;
    pool->props = props;
    return pool;
}

Granted take_from_host(std::uint64_t bytes) {
    void* const pages =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return {CUDA_ERROR_OUT_OF_MEMORY, 0};
    const auto address = reinterpret_cast<std::uint64_t>(pages);
    (void)add_range({.address = address, .bytes = bytes, .device = -1});
    return {CUDA_SUCCESS, address};
}

bool give_to_host(std::uint64_t address) {
    const auto found = find_range(address);
    if (!found || found->address != address || found->kind != RangeKind::kHost ||
        found->context != nullptr) {
        return false;
    }
    if (!remove_range(address, RangeKind::kHost)) return false;
    ::munmap(reinterpret_cast<void*>(address), found->bytes);
    return true;
}

Granted take_from_pool(CUmemPoolHandle_st& pool, std::uint64_t bytes, std::uint32_t owner,
                       const CUstream_st& stream) {
    if (bytes == 0) return {CUDA_ERROR_INVALID_VALUE, 0};
    Device& device = *pool.device;
    release_held(device, &stream);
    const std::lock_guard lock(device.mutex);
    std::uint64_t address = pool.heap->take(bytes, Use::kPlain, owner);
    if (address == 0) {
        const std::uint64_t most = device.arena.size();
        if (bytes > most) return {CUDA_ERROR_OUT_OF_MEMORY, 0};
        // A pool that may be no larger than a chunk has smaller ones.
        const std::uint64_t limit = pool.props.maxSize;
        const bool limited = limit > 0;
        const std::uint64_t chunk_bytes =
            limited && limit < kChunkBytes ? rounded_up(limit, kBlockBytes) : kChunkBytes;
        std::uint64_t span = rounded_up(bytes, chunk_bytes);
        if (limited && pool.heap->reserved_bytes() + span > rounded_up(limit, chunk_bytes)) {
            return {CUDA_ERROR_OUT_OF_MEMORY, 0};
        }
        CUresult paid = device.account.grow(span);
        if (paid == CUDA_ERROR_OUT_OF_MEMORY) {
            // Other pools may keep what nobody uses; then a smaller chunk may do.
            for (CUmemPoolHandle_st* const other : device.pools) {
                if (other != nullptr && other->heap) trim(*other, 0);
            }
            paid = device.account.grow(span);
            if (paid == CUDA_ERROR_OUT_OF_MEMORY) {
                span = rounded_up(bytes, kBlockBytes);
                paid = device.account.grow(span);
            }
        }
        if (paid != CUDA_SUCCESS) return {paid, 0};
        const std::uint64_t chunk = device.arena.take_blocks(span, Use::kChunk, pool.heap->id());
        if (chunk == 0) {
            device.account.shrink(span);
            return {CUDA_ERROR_OUT_OF_MEMORY, 0};
        }
        device.arena.set_resident(chunk, true);
        pool.heap->add_chunk(chunk, span);
        device.pools_in_use = true;
        address = pool.heap->take(bytes, Use::kPlain, owner);
    }
    ++pool.live;
    return {CUDA_SUCCESS, address};
}

void give_to_pool(Device& device, const Allocation& allocation) {
    CUmemPoolHandle_st& pool = *device.pools[allocation.heap];
    pool.heap->give(allocation.address);
    --pool.live;
    end_if_over(pool);
}

void trim_pool(CUmemPoolHandle_st& pool, std::uint64_t keep_bytes) {
    if (!pool.heap) return;
    release_held(*pool.device, nullptr);
    const std::lock_guard lock(pool.device->mutex);
    trim(pool, keep_bytes);
}

void release_unused(Device& device) {
    if (!device.pools_in_use.load(std::memory_order_relaxed)) return;
    release_held(device, nullptr);
    const std::lock_guard lock(device.mutex);
    bool in_use = false;
    for (CUmemPoolHandle_st* const pool : device.pools) {
        if (pool == nullptr || !pool->heap) continue;
        trim(*pool, pool->release_threshold_bytes);
        in_use = in_use || pool->heap->reserved_bytes() > 0;
    }
    device.pools_in_use = in_use;
}

void end_pool(CUmemPoolHandle_st& pool) {
    release_held(*pool.device, nullptr);
    const std::lock_guard lock(pool.device->mutex);
    pool.destroyed = true;
    end_if_over(pool);
}

void end_pools(Device& device) {
    const std::lock_guard lock(device.mutex);
    for (CUmemPoolHandle_st* const pool : device.pools) {
        if (pool != nullptr && pool->heap) trim(*pool, 0);
    }
}

}  // namespace aliquot::sim
