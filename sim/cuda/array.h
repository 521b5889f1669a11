// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "abi/cuda.h"
#include "sim/cuda/device.h"

namespace aliquot::sim {

struct Physical;

/// Level, layer, offset and extent of a part of a sparse array.
using SparsePart = std::array<unsigned, 8>;
/// The memory that parts are mapped to, by mappings of its own. Under the lock of physical memory.
using SparseParts = std::map<SparsePart, Physical*>;
/// The array is gone. Under no lock.
void drop_parts(SparseParts& parts);

}  // namespace aliquot::sim

/// An array: texels in rows, without gaps. One level of a mipmapped array is one too.
struct CUarray_st {
    static constexpr std::uint64_t kMagic = 0x79'61'72'72'61'75'63'00;
    std::uint64_t magic = 0;
    aliquot::sim::Device* device = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    std::uint64_t address = 0;  // 0: its memory comes by other ways (deferred, sparse)
    std::uint64_t bytes = 0;
    bool level = false;               // of a mipmapped array, which owns the memory
    aliquot::sim::SparseParts parts;  // of a sparse array that is no level

    [[nodiscard]] std::uint64_t texel_bytes() const;
    [[nodiscard]] std::uint64_t row_bytes() const { return descriptor.Width * texel_bytes(); }
};

struct CUmipmappedArray_st {
    static constexpr std::uint64_t kMagic = 0x70'61'6d'70'69'6d'63'00;
    std::uint64_t magic = 0;
    aliquot::sim::Device* device = nullptr;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::vector<CUarray> levels;
    aliquot::sim::SparseParts parts;
};
