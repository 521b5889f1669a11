// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/heap.h"

#include <algorithm>

namespace aliquot::sim {
namespace {

constexpr std::uint32_t kStart = 0x8000'0000;  // in the owner's word: an allocation begins here

Allocation describe(const Arena& arena, std::uint32_t cell, std::uint16_t heap) {
    const Unit& unit = arena.cells()[cell];
    const std::uint64_t span = run_size(unit) * kCellBytes;
    return {.address = arena.address_of_cell(cell),
            .bytes = span - unit.a,
            .span = span,
            .use = static_cast<Use>(unit.b & 0xff),
            .touched = false,
            .resident = true,
            .owner = unit.c & ~kStart,
            .heap = heap};
}

}  // namespace

std::uint64_t Heap::take(std::uint64_t bytes, Use use, std::uint32_t owner) {
    const std::uint64_t cells = (bytes + kCellBytes - 1) / kCellBytes;
    if (cells == 0 || cells >= kTakenBit) return 0;
    const std::uint32_t cell = runs_.take(static_cast<std::uint32_t>(cells));
    if (cell == kNoUnit) return 0;
    Unit& unit = arena_.cells()[cell];
    unit.a = static_cast<std::uint32_t>(cells * kCellBytes - bytes);
    unit.b = static_cast<std::uint32_t>(use);
    unit.c = owner | kStart;
    used_bytes_ += cells * kCellBytes;
    used_high_bytes = std::max(used_high_bytes, used_bytes_);
    return arena_.address_of_cell(cell);
}

void Heap::add_chunk(std::uint64_t address, std::uint64_t bytes) {
    const std::uint32_t first = arena_.cell_of(address);
    const auto count = static_cast<std::uint32_t>(bytes / kCellBytes);
    runs_.give(first, count, first, first + count);
    chunks_.push_back(address);
    reserved_bytes_ += bytes;
    reserved_high_bytes = std::max(reserved_high_bytes, reserved_bytes_);
}

std::uint64_t Heap::give(std::uint64_t address) {
    const auto chunk = arena_.blocks_at(address);
    const std::uint32_t low = arena_.cell_of(chunk->address);
    const auto count = static_cast<std::uint32_t>(chunk->span / kCellBytes);
    const std::uint32_t cell = arena_.cell_of(address);
    const std::uint32_t size = run_size(arena_.cells()[cell]);
    used_bytes_ -= size * kCellBytes;
    arena_.cells()[cell].c = 0;
    const std::uint32_t run = runs_.give(cell, size, low, low + count);
    return run_size(arena_.cells()[run]) == count ? chunk->address : 0;
}

std::uint64_t Heap::remove_chunk(std::uint64_t address) {
    const auto chunk = arena_.blocks_at(address);
    runs_.remove(arena_.cell_of(address));
    // Chunks come and go at the end, mostly.
    const auto found = std::find(chunks_.rbegin(), chunks_.rend(), address);
    *found = chunks_.back();
    chunks_.pop_back();
    reserved_bytes_ -= chunk->span;
    return chunk->span;
}

std::uint64_t Heap::empty_chunk() const {
    for (const std::uint64_t address : chunks_) {
        const auto chunk = arena_.blocks_at(address);
        const Unit& first = arena_.cells()[arena_.cell_of(address)];
        if (!is_taken(first) && run_size(first) == chunk->span / kCellBytes) return address;
    }
    return 0;
}

std::optional<Allocation> cells_at(const Arena& arena, const Allocation& chunk,
                                   std::uint64_t address) {
    const std::uint32_t low = arena.cell_of(chunk.address);
    const auto end = low + static_cast<std::uint32_t>(chunk.span / kCellBytes);
    const std::uint32_t wanted = arena.cell_of(address);
    if ((arena.cells()[wanted].c & kStart) != 0) {
        return describe(arena, wanted, static_cast<std::uint16_t>(chunk.owner));
    }
    for (std::uint32_t cell = low; cell < end;) {
        const Unit& unit = arena.cells()[cell];
        const std::uint32_t size = run_size(unit);
        if (size == 0) return std::nullopt;
        if (wanted < cell + size) {
            if (!is_taken(unit)) return std::nullopt;
            return describe(arena, cell, static_cast<std::uint16_t>(chunk.owner));
        }
        cell += size;
    }
    return std::nullopt;
}

std::vector<Allocation> allocations_in(const Arena& arena, const Allocation& chunk) {
    std::vector<Allocation> found;
    const std::uint32_t low = arena.cell_of(chunk.address);
    const auto end = low + static_cast<std::uint32_t>(chunk.span / kCellBytes);
    for (std::uint32_t cell = low; cell < end;) {
        const Unit& unit = arena.cells()[cell];
        if (run_size(unit) == 0) break;
        if (is_taken(unit)) {
            found.push_back(describe(arena, cell, static_cast<std::uint16_t>(chunk.owner)));
        }
        cell += run_size(unit);
    }
    return found;
}

}  // namespace aliquot::sim
