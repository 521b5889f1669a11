// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "abi/cuda.h"
#include "sim/cuda/queue.h"

namespace aliquot::sim {

/// What a kernel computes. Kernels of images that are not our own compute nothing.
enum class KernelKind : std::uint8_t { kUnknown, kVectorAdd, kFill, kMatmul, kSpin, kProbe };

}  // namespace aliquot::sim

/// A kernel of a loaded module or library.
struct CUfunc_st {
    static constexpr std::uint64_t kMagic = 0x63'6e'75'66'75'63'00'00;
    std::uint64_t magic = 0;
    std::string name;
    aliquot::sim::KernelKind kind = aliquot::sim::KernelKind::kUnknown;
    CUmodule module = nullptr;
    std::map<int, int> attributes;
    // Of cuFuncSetBlockShape and cuParamSet*.
    unsigned block[3] = {1, 1, 1};
    unsigned shared_bytes = 0;
    std::vector<unsigned char> parameters;
};

/// A loaded image.
struct CUmod_st {
    static constexpr std::uint64_t kMagic = 0x65'6c'75'64'6f'6d'00'00;
    std::uint64_t magic = 0;
    CUcontext context = nullptr;  // nullptr: of a library
    bool own_format = false;  // it names its kernels; any other image has a kernel of every name
    std::vector<std::string> kernels;
    bool has_probe = false;  // PTX with the kernel of aliquot-probe, which can be computed
    std::map<std::string, std::uint64_t, std::less<>> global_bytes;
    std::map<std::string, std::uint64_t, std::less<>> global_addresses;
    std::map<std::string, CUfunc_st*, std::less<>> functions;  // that were asked for
};

namespace aliquot::sim {

/// How a kernel is launched.
struct Launch {
    CUfunc_st* function = nullptr;
    std::array<unsigned, 3> grid{1, 1, 1};
    std::array<unsigned, 3> block{1, 1, 1};
    std::vector<unsigned char> arguments;  // as the kernel gets them, one after the other, aligned

    [[nodiscard]] std::uint64_t blocks() const {
        return std::uint64_t{grid[0]} * grid[1] * grid[2];
    }
    [[nodiscard]] std::uint64_t threads() const {
        return blocks() * block[0] * block[1] * block[2];
    }
};

KernelKind kernel_kind(std::string_view name);
/// The arguments of a launch as CUDA passes them: an array of addresses, or one buffer. Reads only
/// what the kernel is known to take.
struct Arguments {
    CUresult result;
    std::vector<unsigned char> bytes;
};
Arguments read_arguments(const CUfunc_st& function, void** parameters, void** extra);

struct Device;
/// How long it runs, and how much of the device it takes: by its threads or its blocks.
Work work_of(const Device& device, const Launch& launch);
/// Computes it. CUDA_ERROR_ILLEGAL_ADDRESS: it touched memory that is not there.
CUresult compute(const Launch& launch);

/// Does it compute anything?
inline bool has_effect(const CUfunc_st& function) {
    return function.kind != KernelKind::kUnknown && function.kind != KernelKind::kSpin;
}

}  // namespace aliquot::sim
