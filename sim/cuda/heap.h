// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/cuda/arena.h"
#include "sim/cuda/free_runs.h"

namespace aliquot::sim {

/// Divides chunks of an arena into cells: the driver's small allocations, and each memory pool. The
/// caller gets the chunks (it has to pay for them); this says when one is needed and when one is
/// empty. Not thread-safe.
class Heap {
public:
    /// id   of this heap in its device, not 0: chunks are taken from the arena with it as owner
    Heap(Arena& arena, std::uint16_t id) : arena_(arena), runs_(arena.cells()), id_(id) {}

    [[nodiscard]] std::uint16_t id() const { return id_; }
    [[nodiscard]] std::uint64_t reserved_bytes() const { return reserved_bytes_; }
    [[nodiscard]] std::uint64_t used_bytes() const { return used_bytes_; }
    std::uint64_t reserved_high_bytes = 0;
    std::uint64_t used_high_bytes = 0;

    /// 0: no chunk has room for it.
    std::uint64_t take(std::uint64_t bytes, Use use, std::uint32_t owner);
    void add_chunk(std::uint64_t address, std::uint64_t bytes);
    /// Gives back an allocation. Returns the chunk it lay in if that is empty now, else 0.
    std::uint64_t give(std::uint64_t address);
    /// Forgets an empty chunk; the caller gives its blocks back. Returns its size.
    std::uint64_t remove_chunk(std::uint64_t address);
    /// Any empty chunk; 0: there is none.
    [[nodiscard]] std::uint64_t empty_chunk() const;

    [[nodiscard]] const std::vector<std::uint64_t>& chunks() const { return chunks_; }

private:
    Arena& arena_;
    FreeRuns runs_;
    std::uint16_t id_;
    std::uint64_t reserved_bytes_ = 0;
    std::uint64_t used_bytes_ = 0;
    std::vector<std::uint64_t> chunks_;
};

/// The allocation in a chunk that an address lies in.
std::optional<Allocation> cells_at(const Arena& arena, const Allocation& chunk,
                                   std::uint64_t address);
/// All allocations of a chunk, in order. They may be given back afterwards, not meanwhile.
std::vector<Allocation> allocations_in(const Arena& arena, const Allocation& chunk);

}  // namespace aliquot::sim
