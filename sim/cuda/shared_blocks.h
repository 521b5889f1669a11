// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "sim/cuda/device.h"

namespace aliquot::sim {

/// Blocks of an arena whose pages other processes can map.
struct SharedBlocks {
    int file = -1;  // -1: they cannot be shared
    std::uint64_t inode = 0;
    std::uint64_t address = 0;  // where the file begins
};

/// Puts the blocks that an address lies in into a file, with what is in them. They stay in it until
/// they are given back.
SharedBlocks share_blocks(Device& device, std::uint64_t address);

/// Blocks are given back: their file goes, their addresses are ordinary memory again. Under the
/// device's lock.
void unshare_blocks(Device& device, std::uint64_t address, std::uint64_t bytes);

/// Memory of this process as another one is told of it: through a file of ours.
struct ForeignMemory {
    std::uint64_t magic;
    std::uint32_t pid;
    std::int32_t file;     // descriptor in that process
    std::uint64_t inode;   // of the file, so that another one is not taken for it
    std::uint64_t offset;  // of the allocation in the file
    std::uint64_t bytes;
};
static_assert(sizeof(ForeignMemory) <= sizeof(CUipcMemHandle));
std::optional<ForeignMemory> describe_for_others(Device& device, const Allocation& allocation);
/// Maps it here.
Granted open_foreign(const ForeignMemory& memory, CUcontext context);

}  // namespace aliquot::sim
