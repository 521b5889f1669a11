// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "abi/cuda.h"

namespace aliquot::sim {

/// One end of a copy: rows of bytes in slices.
struct Side {
    std::uint64_t address = 0;
    std::uint64_t pitch = 0;  // from row to row
    std::uint64_t slice = 0;  // from slice to slice
    bool host = false;        // memory that only the program knows of
};

struct Copy {
    Side from;
    Side to;
    std::uint64_t width = 0;  // bytes of a row
    std::uint64_t height = 1;
    std::uint64_t depth = 1;
};

/// A copy between two rows of bytes.
Copy plain_copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);

enum class When : std::uint8_t {
    kNow,     // returns when it is done
    kInTurn,  // put into the stream
};

/// Checks both ends and copies, now or when the stream comes to it.
CUresult copy(const Copy& what, CUstream stream, bool per_thread, When when);

/// Where something is set instead of copied.
struct Pattern {
    std::uint64_t address = 0;
    std::uint64_t pitch = 0;
    std::uint32_t value = 0;
    unsigned element = 1;     // bytes: 1, 2 or 4
    std::uint64_t width = 0;  // elements of a row
    std::uint64_t height = 1;
};
CUresult set(const Pattern& what, CUstream stream, bool per_thread, When when);

/// For graph nodes: CUDA_SUCCESS when they can be carried out later.
CUresult check(const Copy& what);
CUresult check(const Pattern& what);
void perform(const Copy& what);
void perform(const Pattern& what);

/// The copy that these parameters describe; empty: they make no sense.
std::optional<Copy> copy_of(const CUDA_MEMCPY2D& parameters);
std::optional<Copy> copy_of(const CUDA_MEMCPY3D& parameters);

}  // namespace aliquot::sim
