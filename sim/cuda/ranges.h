// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "abi/cuda.h"

/// Addresses that a program may hand to the driver and that lie in no device's arena: page-locked
/// host memory, mapped physical memory, memory of other processes.
namespace aliquot::sim {

enum class RangeKind : std::uint8_t {
    kHost,        // cuMemHostAlloc: ours
    kRegistered,  // cuMemHostRegister: the program's
    kMapping,     // cuMemMap
    kImported,    // cuIpcOpenMemHandle
    kExternal,    // cuExternalMemoryGetMappedBuffer
};

struct Range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    RangeKind kind = RangeKind::kHost;
    unsigned flags = 0;
    CUcontext context = nullptr;
    int device = 0;            // ordinal; -1: none
    std::uint64_t handle = 0;  // of a mapping: what is mapped
    bool accessible = true;    // of a mapping: cuMemSetAccess has been called
    void* pages = nullptr;     // what to unmap, where that is more
    std::uint64_t pages_bytes = 0;
};

/// False: it overlaps with one that is there.
bool add_range(const Range& range);
/// The range that an address lies in.
std::optional<Range> find_range(std::uint64_t address);
/// Removes the range that begins at an address; its memory is the caller's business.
std::optional<Range> remove_range(std::uint64_t address, RangeKind kind);
void set_accessible(std::uint64_t address, std::uint64_t bytes, bool accessible);

/// A context is gone: so is its host and imported memory.
void forget_ranges_of(CUcontext context);

}  // namespace aliquot::sim
