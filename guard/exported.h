// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/cuda.h"

/// What physical memory of this process was exported to, so that importing it again in this process
/// is known as that, and memory that only a descriptor keeps alive is known to live. The books of
/// vmm.cpp, under its lock. At most 65,536 at once; memory exported beyond stays charged.
///
/// A descriptor that has an inode of its own is found under every number it was copied to. Those of
/// NVIDIA's driver have the device file's: of them the exported number counts, a copy does not. What
/// another process was sent counts nowhere.
namespace aliquot::guard {

/// returns  whether it keeps the memory alive: a descriptor does, a fabric handle does not
bool add_export(std::uint32_t physical, CUmemAllocationHandleType type, const void* exported);
/// exported   the descriptor as an address, or a pointer to a fabric handle, as for importing
/// returns  whose it is; kNone: not this process'
std::uint32_t find_export(CUmemAllocationHandleType type, const void* exported);
/// Looks at all open descriptors.
void look_for_descriptors();
/// One whose descriptors were all closed when they were looked at, forgotten now; kNone: no more.
std::uint32_t take_closed();
/// The memory is gone: its fabric handles mean nothing.
void drop_tokens(std::uint32_t physical);
/// In the child of a fork.
void forget_exports();

}  // namespace aliquot::guard
