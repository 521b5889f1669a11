// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/interval.h"

namespace aliquot::gpu {
struct Gpu;
struct MigDevice;
}  // namespace aliquot::gpu

namespace aliquot::cost {

// NOLINTNEXTLINE(google-runtime-int): 128 bits have no other name
__extension__ using Wide = unsigned __int128;

/// Divides `total` in proportion to `weights`, to the unit: each gets its part rounded down, and the units that are left
/// go to the largest remainders, the first of equal ones. All weights 0: all parts are 0 and `total` is nobody's.
/// total    0 to 10^15; weights add up to less than 2^126
std::vector<Micros> largest_remainder(Micros total, std::span<const Wide> weights);

/// What a container has of a GPU.
struct Held {
    std::uint32_t slots = 1;  // devices of the plugin, or parts of a MIG device
    std::uint32_t of = 1;     // that the GPU, or the MIG device, is offered as
    /// Of the GPU; 0: no limit. With a limit it is billed the larger of both parts.
    std::uint64_t memory_mib = 0;
    std::uint64_t gpu_memory_mib = 0;  // that the GPU has; 0: not known
    std::uint32_t compute_percent = 0;
    /// A MIG device; 0: none. It is billed the larger of its parts of multiprocessors and memory.
    std::uint32_t mig_slices = 0;
    std::uint32_t gpu_slices = 0;
    std::uint32_t mig_memory_mib = 0;
};
/// Its share in billionths of the GPU, at most kWholeGpu: limits where it has some, else slots / of.
std::uint32_t share_of(const Held& held);

/// The share of a MIG device in its GPU: the larger of its GPU instance's parts of compute slices and memory, and of that
/// what its compute instance has. Slices are those of the profile's name, memory is the catalog's where the device does
/// not tell its own. Without a number of slices it is the part of memory; without that too the whole GPU.
std::uint32_t share_of(const gpu::Gpu& gpu, const gpu::MigDevice& device);

/// The price of a node's hour, by what it is for. They add up to the price of the node.
struct Rates {
    std::vector<Micros> gpus;  // as many as the node has
    Micros cpu = 0;
    Micros memory = 0;
};
/// CPU and memory cost what machines without GPUs ask for them (0.031611 a core, 0.004237 a GiB), the GPUs the rest;
/// where that would be less than in proportion to 0.95 a GPU, they are divided in that proportion.
/// source: OpenCost, configs/default.json
Rates rates_of(const Span& span);

}  // namespace aliquot::cost
