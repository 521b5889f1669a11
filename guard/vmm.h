// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/cuda.h"

/// Physical memory by handle. It lives, and is charged, as long as a handle, a mapping (of addresses,
/// in a sparse array, in a multicast object) or a descriptor that it was exported to. Programs
/// release the handle right after mapping it.
namespace aliquot::guard {

/// What a handle of cuMemCreate and its kin stands for, in the books; kNone: not known to them.
using PhysicalIndex = std::uint32_t;

/// Books for a new handle.
/// bytes   charged already, where `charged`
void remember_handle(CUmemGenericAllocationHandle handle, std::uint64_t bytes, unsigned place,
                     bool charged);
/// `handle` is one more for this memory.
void share_handle(CUmemGenericAllocationHandle handle, PhysicalIndex physical);
/// Takes one reference of a handle out of the books before the driver is asked to: once it has
/// released it, another thread may be given the same handle. The memory stays until let_go().
PhysicalIndex take_handle(CUmemGenericAllocationHandle handle);

/// The memory of a handle, of a mapped address, or of what was exported; it is held in the books
/// until let_go(), so that no other thread's call gives it back meanwhile. kNone: not known.
PhysicalIndex hold_handle(CUmemGenericAllocationHandle handle);
PhysicalIndex hold_mapped(std::uint64_t address);
PhysicalIndex hold_exported(CUmemAllocationHandleType type, const void* exported);
void let_go(PhysicalIndex physical);

void note_mapping(PhysicalIndex physical, std::uint64_t address, std::uint64_t bytes);
/// Mappings that a range begins with, one after the other, taken from the books, each held.
struct TakenMapping {
    std::uint64_t address;
    std::uint64_t bytes;
    PhysicalIndex physical;
};
std::size_t count_mappings(std::uint64_t address, std::uint64_t bytes);
std::size_t take_mappings(std::uint64_t address, std::uint64_t bytes, TakenMapping* taken,
                          std::size_t most);
/// They are gone, or the driver has refused it and they are what they were.
void end_mapping(const TakenMapping& taken, bool gone);

/// A part of a sparse array, or of a multicast object, stands for memory of this handle.
void note_array_mapping(const CUarrayMapInfo& info);
/// It stands for none any more; held until let_go(). kNone: not known.
PhysicalIndex take_array_mapping(const CUarrayMapInfo& info);
void drop_array(std::uint64_t array);
void note_binding(CUmemGenericAllocationHandle multicast, std::uint64_t offset,
                  PhysicalIndex memory);
void drop_bindings(CUmemGenericAllocationHandle multicast, unsigned place, std::uint64_t offset,
                   std::uint64_t bytes);

/// It was exported: `exported` is what the driver wrote.
void note_export(PhysicalIndex physical, CUmemAllocationHandleType type, const void* exported);
/// Some memory is held by nothing but descriptors, as far as is known.
bool has_exported_only();
/// Looks which descriptors are still open.
void settle_exported();

/// In the child of a fork.
void forget_vmm();

}  // namespace aliquot::guard
