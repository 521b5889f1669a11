// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "abi/cuda.h"
#include "sim/cuda/device.h"

/// Physical memory that a program maps itself: what a CUmemGenericAllocationHandle means. It lives
/// while a handle or a mapping refers to it.
namespace aliquot::sim {

struct Physical {
    static constexpr std::uint64_t kMagic = 0x6c'61'63'69'73'79'68'70;
    std::uint64_t magic = 0;
    Device* device =
        nullptr;  // that pays for it; nullptr: nobody (host memory, imported, multicast)
    CUmemAllocationProp props{};
    std::uint64_t bytes = 0;
    std::uint64_t handles = 1;
    std::uint64_t mappings = 0;
    int file = -1;           // its pages, once they are needed
    bool exported = false;   // lives as long as a descriptor of its file is open, too
    bool multicast = false;  // stands for memory of several devices, has none itself
    unsigned devices = 0;    // of a multicast object: how many were added
    unsigned devices_wanted = 0;
    std::multimap<std::uint64_t, Physical*> bound;  // to it, by offset: each holds a mapping
};

/// One lock for all of them.
std::mutex& physical_mutex();

struct PhysicalMade {
    CUresult result;
    Physical* physical;
};
PhysicalMade make_physical(const CUmemAllocationProp& props, std::uint64_t bytes, Device* payer);
/// nullptr: the handle means nothing.
Physical* physical_of(CUmemGenericAllocationHandle handle);
CUmemGenericAllocationHandle handle_of(Physical& physical);
/// Under the lock: a reference less.
void drop_handle(Physical& physical);
void drop_mapping(Physical& physical);
/// Under the lock: the file with its pages, made when first asked for; -1: there can be none.
int file_of(Physical& physical);
/// The device whose memory such a file holds; -1: of the host. Empty: it is no such file.
std::optional<int> device_of_file(int file);
/// An object for a file that another process exported; of one that this process did, the same object
/// with a handle more.
PhysicalMade import_physical(int file);
/// Under the lock: it was exported by a descriptor.
void note_export(Physical& physical);
/// Under the lock: drops what only descriptors kept that are closed now.
void drop_closed();
/// Some memory is kept by descriptors only, as far as is known.
bool has_exported_only();

}  // namespace aliquot::sim
