// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "abi/cuda.h"
#include "sim/cuda/device.h"

/// A memory pool: a heap of its device whose chunks it keeps for later.
struct CUmemPoolHandle_st {
    static constexpr std::uint64_t kMagic = 0x6c'6f'6f'70'75'63'00'00;
    std::uint64_t magic = 0;
    aliquot::sim::Device* device = nullptr;
    std::unique_ptr<aliquot::sim::Heap> heap;  // nullptr: of host memory
    CUmemPoolProps props{};
    std::uint64_t release_threshold_bytes = 0;
    int reuse[3] = {1, 1, 1};
    bool is_default = false;
    bool imported = false;
    bool destroyed = false;  // goes when its last allocation is freed
    std::uint64_t live = 0;  // allocations
    int access = 3;          // of its own device: read and write
    int shared_file = -1;    // imported or exported: what its handle stands for
};

namespace aliquot::sim {

/// May a call have this pool? CUDA_ERROR_INVALID_VALUE: it is none, or destroyed.
CUresult check(CUmemoryPool pool);
/// A pool on a device. Under no lock.
CUmemPoolHandle_st* make_pool(Device& device, const CUmemPoolProps& props);
/// A pool of host memory, or of managed memory, which lies with the host here: no chunks, nobody
/// pays.
CUmemPoolHandle_st* make_host_pool(Device& any, const CUmemPoolProps& props);
Granted take_from_host(std::uint64_t bytes);
/// False: no such memory begins there.
bool give_to_host(std::uint64_t address);

/// Takes memory from a pool; its chunks are paid for when they are added.
/// stream   whose freed blocks may be used again
Granted take_from_pool(CUmemPoolHandle_st& pool, std::uint64_t bytes, std::uint32_t owner,
                       const CUstream_st& stream);
void give_to_pool(Device& device, const Allocation& allocation);

/// Gives empty chunks back while more than this is kept. Under no lock.
void trim_pool(CUmemPoolHandle_st& pool, std::uint64_t keep_bytes);
/// What every synchronisation does: pools keep what is used, or their threshold.
void release_unused(Device& device);
/// cuMemPoolDestroy.
void end_pool(CUmemPoolHandle_st& pool);
/// The last context of the device is gone: no pool keeps anything.
void end_pools(Device& device);

}  // namespace aliquot::sim
