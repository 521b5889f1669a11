// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/cuda/device.h"
#include "sim/cuda/driver.h"
#include "sim/cuda/pool.h"
#include "sim/cuda/shared_blocks.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kSmallBytes = 1ULL << 20;        // up to here allocations share blocks
constexpr std::uint64_t kLowArenaBytes = 3584ULL << 20;  // below 4 GiB there is not more
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/// Blocks that are paid for. Under the device's lock.
Granted take_paid_blocks(Device& device, Arena& arena, std::uint64_t bytes, Use use,
                         std::uint32_t owner) {
    const std::uint64_t span = rounded_up(bytes, kBlockBytes);
    const bool paid = use != Use::kManaged;
    if (paid) {
        const CUresult result = device.account.grow(span);
        if (result != CUDA_SUCCESS) return {result, 0};
    }
    const std::uint64_t address = arena.take_blocks(bytes, use, owner);
    if (address == 0) {
        if (paid) device.account.shrink(span);
        return {CUDA_ERROR_OUT_OF_MEMORY, 0};
    }
    if (paid) arena.set_resident(address, true);
    return {CUDA_SUCCESS, address};
}

Granted take_small(Device& device, Arena& arena, Heap& heap, const Demand& demand) {
    if (const auto address = heap.take(demand.bytes, demand.use, demand.owner); address != 0) {
        return {CUDA_SUCCESS, address};
    }
    const Granted chunk = take_paid_blocks(device, arena, kBlockBytes, Use::kChunk, heap.id());
    if (chunk.result != CUDA_SUCCESS) return chunk;
    heap.add_chunk(chunk.address, kBlockBytes);
    return {CUDA_SUCCESS, heap.take(demand.bytes, demand.use, demand.owner)};
}

Arena& arena_of(Device& device, std::uint64_t address) {
    return device.low.contains(address) ? device.low : device.arena;
}

void give_paid_blocks(Device& device, Arena& arena, const Allocation& blocks) {
    if (!device.shared_files.empty()) unshare_blocks(device, blocks.address, blocks.span);
    arena.give_blocks(blocks.address);
    if (blocks.resident) device.account.shrink(blocks.span);
}

/// Under the device's lock.
void give(Device& device, const Allocation& allocation) {
    Arena& arena = arena_of(device, allocation.address);
    if (allocation.use == Use::kGraph) {
        // Its graph keeps the memory.
        if (!allocation.resident) return;
        arena.set_resident(allocation.address, false);
        device.graph_used_bytes -= std::min(device.graph_used_bytes, allocation.span);
        return;
    }
    if (allocation.heap == 0) {
        give_paid_blocks(device, arena, allocation);
        return;
    }
    if (allocation.heap > 1) {
        give_to_pool(device, allocation);
        return;
    }
    Heap& heap = &arena == &device.low ? *device.small_low : *device.small;
    const std::uint64_t empty = heap.give(allocation.address);
    if (empty == 0) return;
    const auto chunk = arena.blocks_at(empty);
    heap.remove_chunk(empty);
    give_paid_blocks(device, arena, *chunk);
}

std::optional<Allocation> find(Device& device, std::uint64_t address) {
    const Arena& arena = arena_of(device, address);
    auto found = arena.blocks_at(address);
    if (!found || found->use != Use::kChunk) return found;
    const auto piece = cells_at(arena, *found, address);
    if (piece && device.held_blocks.contains(piece->address)) return std::nullopt;
    return piece;
}

}  // namespace

Granted take_memory(Device& device, const Demand& demand) {
    if (demand.bytes == 0) return {CUDA_ERROR_INVALID_VALUE, 0};
    if (demand.bytes > kMostBytes) return {CUDA_ERROR_OUT_OF_MEMORY, 0};
    const std::lock_guard lock(device.mutex);
    if (demand.low && device.low.size() == 0) {
        const std::uint64_t share =
            kLowArenaBytes / std::max<std::size_t>(Driver::get().device_count(), 1);
        if (!device.low.reserve(rounded_up(share, kBlockBytes), true)) {
            return {CUDA_ERROR_OUT_OF_MEMORY, 0};
        }
        device.small_low = std::make_unique<Heap>(device.low, std::uint16_t{1});
    }
    Arena& arena = demand.low ? device.low : device.arena;
    const bool small = demand.bytes <= kSmallBytes && demand.use != Use::kManaged;
    if (!small) return take_paid_blocks(device, arena, demand.bytes, demand.use, demand.owner);
    return take_small(device, arena, demand.low ? *device.small_low : *device.small, demand);
}

void give_memory(Device& device, const Allocation& allocation) {
    const std::lock_guard lock(device.mutex);
    give(device, allocation);
}

std::optional<Allocation> find_allocation(Device& device, std::uint64_t address) {
    const std::lock_guard lock(device.mutex);
    return find(device, address);
}

bool give_memory_at(Device& device, std::uint64_t address) {
    const std::lock_guard lock(device.mutex);
    const auto found = find(device, address);
    if (!found || found->address != address || found->use == Use::kArray) return false;
    if (found->use == Use::kGraph && !found->resident) return false;
    give(device, *found);
    return true;
}

bool hold_block(Device& device, std::uint64_t address, const HeldBlock& held) {
    const std::lock_guard lock(device.mutex);
    const auto found = find(device, address);
    if (!found || found->address != address || found->heap <= 1) return false;
    if (device.pools[found->heap]->destroyed) {  // nobody allocates from it any more
        give(device, *found);
        return true;
    }
    device.held_blocks.emplace(address, HeldBlock{.stream = held.stream,
                                                  .position = held.position,
                                                  .bytes = found->span,
                                                  .heap = found->heap});
    return true;
}

void release_held(Device& device, const CUstream_st* stream, bool all) {
    const std::lock_guard lock(device.mutex);
    for (auto at = device.held_blocks.begin(); at != device.held_blocks.end();) {
        const bool free = stream != nullptr ? at->second.stream == stream
                                            : all || device.queue.reached(at->second.position);
        if (!free) {
            ++at;
            continue;
        }
        const std::uint64_t address = at->first;
        at = device.held_blocks.erase(at);
        if (const auto found = find(device, address)) give(device, *found);
    }
}

bool touch(Device& device, std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(device.mutex);
    const auto found = find(device, address);
    if (!found || address + bytes > found->address + found->span) return false;
    arena_of(device, address).set_touched(address);
    return true;
}

void give_all(Device& device, std::uint32_t owner) {
    const std::lock_guard lock(device.mutex);
    std::vector<Allocation> owned;
    for (const Arena* const arena : {&device.arena, &device.low}) {
        arena->for_each([&](const Allocation& blocks) {
            if (blocks.use != Use::kChunk) {
                if (blocks.owner == owner) owned.push_back(blocks);
                return;
            }
            for (const Allocation& piece : allocations_in(*arena, blocks)) {
                if (piece.owner == owner) owned.push_back(piece);
            }
        });
    }
    for (const Allocation& allocation : owned) give(device, allocation);
}

std::uint64_t context_bytes(const Device& device) {
    if (const auto set = Driver::get().context_bytes) return *set;
    // What was seen of V100, A100 and H100 with a bare context, as a line through them.
    constexpr std::uint64_t kFixedMib = 64;
    const std::uint64_t mib = kFixedMib + std::uint64_t{device.multiprocessors} * 10 / 3;
    return rounded_up(mib << 20, kBlockBytes);
}

}  // namespace aliquot::sim
