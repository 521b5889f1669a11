// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "sim/cuda/free_runs.h"

namespace aliquot::sim {

inline constexpr std::uint64_t kBlockBytes = 2ULL << 20;  // what the device hands out
inline constexpr std::uint64_t kCellBytes = 512;          // what a block is divided into
inline constexpr std::uint32_t kCellsPerBlock = kBlockBytes / kCellBytes;

/// What an allocation is for.
enum class Use : std::uint8_t {
    kNone,
    kPlain,    // cuMemAlloc and its like
    kManaged,  // not in the device's memory until the device touches it
    kArray,
    kChunk,  // a heap divides it further
    kGraph,  // of a memory node: backed while its graph's memory is
};

/// One allocation. `owner` is the context (or, of a chunk, the heap) it belongs to.
struct Allocation {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  // as asked for
    std::uint64_t span = 0;   // as taken
    Use use = Use::kNone;
    bool touched = false;  // its pages may hold data
    bool resident = false;
    std::uint32_t owner = 0;
    std::uint16_t heap = 0;  // 0: blocks of the arena itself
};

/// The address space of one device in this process: one reserved range, readable and writable, in
/// which memory is allocated without asking the kernel. Addresses are those a program sees, and the
/// host's. Not thread-safe: its Device has a lock.
class Arena {
public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena();

    /// Reserves the range (once). low: below 4 GiB, for the 32-bit entry points; then as much as
    /// there is. False: the system has no such range.
    bool reserve(std::uint64_t bytes, bool low);

    [[nodiscard]] bool contains(std::uint64_t address) const { return address - base_ < size_; }
    [[nodiscard]] std::uint64_t base() const { return base_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }

    /// Takes whole blocks. 0: no room.
    std::uint64_t take_blocks(std::uint64_t bytes, Use use, std::uint32_t owner);
    /// Gives blocks back; what was in them is gone.
    void give_blocks(std::uint64_t address);
    /// The blocks that an address lies in; empty: it lies in none that are taken.
    [[nodiscard]] std::optional<Allocation> blocks_at(std::uint64_t address) const;
    void set_touched(std::uint64_t address);
    void set_resident(std::uint64_t address, bool resident);

    [[nodiscard]] Unit* cells() { return cells_; }
    [[nodiscard]] const Unit* cells() const { return cells_; }
    [[nodiscard]] std::uint32_t cell_of(std::uint64_t address) const {
        return static_cast<std::uint32_t>((address - base_) / kCellBytes);
    }
    [[nodiscard]] std::uint64_t address_of_cell(std::uint32_t cell) const {
        return base_ + std::uint64_t{cell} * kCellBytes;
    }

    /// Every taken run of blocks. `visit` may give back the run it is called with.
    void for_each(const std::function<void(const Allocation&)>& visit) const;

private:
    [[nodiscard]] Allocation describe(std::uint32_t block) const;

    std::uint64_t base_ = 0;
    std::uint64_t size_ = 0;
    std::uint32_t used_ = 0;          // blocks that ever were taken lie below
    Unit* blocks_ = nullptr;          // by block
    std::uint32_t* heads_ = nullptr;  // by block: the first one of its run
    Unit* cells_ = nullptr;           // by cell; for the heaps
    FreeRuns* runs_ = nullptr;
};

}  // namespace aliquot::sim
