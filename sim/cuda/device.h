// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "abi/cuda.h"
#include "sim/cuda/account.h"
#include "sim/cuda/arena.h"
#include "sim/cuda/context.h"
#include "sim/cuda/heap.h"
#include "sim/cuda/queue.h"
#include "sim/node/model.h"

struct CUmemPoolHandle_st;

namespace aliquot::sim {

struct HeldBlock {
    const CUstream_st* stream;
    std::uint64_t position;   // of the queue, at which it is free
    std::uint64_t bytes = 0;  // that it takes of its pool
    std::uint16_t heap = 0;   // the pool
};

/// One device as this process sees it: who it is, what of its memory is whose, and its queue.
struct Device {
    Device(SharedState& shared, const VisibleDevice& where, int number)
        : ordinal(number), account(shared, where), queue(account) {}

    int ordinal;
    const Model* model = nullptr;
    std::string name;
    CUuuid uuid{};
    CUuuid gpu_uuid{};  // of the GPU a MIG device is of
    unsigned multiprocessors = 0;
    unsigned pci_domain = 0;
    unsigned pci_bus = 0;
    int numa_node = -1;
    unsigned compute_mode = 0;
    Account account;
    Queue queue;

    /// Memory of this process on the device. All under `mutex`.
    std::mutex mutex;
    Arena arena;
    Arena low;  // below 4 GiB, for the 32-bit entry points
    std::unique_ptr<Heap> small;
    std::unique_ptr<Heap> small_low;
    std::vector<CUmemPoolHandle_st*> pools;  // by heap id
    /// Freed in a stream, by address: of a pool still, for that stream only, until a host has waited
    /// for the position or the stream takes memory again.
    std::map<std::uint64_t, HeldBlock> held_blocks;
    std::atomic<bool> pools_in_use{false};      // a synchronisation may find something to release
    std::map<std::uint64_t, int> shared_files;  // of blocks that other processes may map
    std::map<std::uint64_t, int> graph_addresses;  // of allocation nodes: how many graphs have them
    std::uint64_t graph_reserved_bytes = 0;
    std::uint64_t graph_used_bytes = 0;
    std::uint64_t graph_reserved_high_bytes = 0;
    std::uint64_t graph_used_high_bytes = 0;

    std::mutex contexts_mutex;
    CUctx_st* primary = nullptr;
    unsigned primary_references = 0;
    unsigned primary_flags = 0;
    unsigned contexts = 0;  // alive
    CUmemPoolHandle_st* default_pool = nullptr;
    std::atomic<CUmemPoolHandle_st*> current_pool{nullptr};
};

/// Who pays for memory, and from where it is taken.
struct Demand {
    std::uint64_t bytes = 0;
    Use use = Use::kPlain;
    std::uint32_t owner = 0;
    bool low = false;
};

/// An allocation, or why there is none.
struct Granted {
    CUresult result;
    std::uint64_t address;
};

/// Takes memory: up to 1 MiB from blocks shared with other small ones, else whole blocks.
Granted take_memory(Device& device, const Demand& demand);
/// Gives back what take_memory() granted at this address.
void give_memory(Device& device, const Allocation& allocation);
/// Gives back what begins at an address, if it is of cuMemAlloc's kind or a pool's. False: nothing
/// does.
bool give_memory_at(Device& device, std::uint64_t address);
/// Freed in stream order. False: nothing of a pool begins there.
bool hold_block(Device& device, std::uint64_t address, const HeldBlock& held);
/// Gives back what may be used by all: what `stream` has freed, or, for nullptr, what was freed by a
/// position that the device has reached, or, with `all`, everything.
void release_held(Device& device, const CUstream_st* stream, bool all = false);
/// The allocation that an address lies in.
std::optional<Allocation> find_allocation(Device& device, std::uint64_t address);
/// Gives back all that a context owns.
void give_all(Device& device, std::uint32_t owner);

/// Whether a program may touch these bytes on the device. Remembers that it did.
bool touch(Device& device, std::uint64_t address, std::uint64_t bytes);

/// The last context of the device is gone, and with it what graphs hold.
void forget_graph_memory(Device& device);

/// What a context costs on a device, before it has allocated anything.
std::uint64_t context_bytes(const Device& device);

}  // namespace aliquot::sim
