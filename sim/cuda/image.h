// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/cuda/kernel.h"

/// Images: a text of our own names kernels that can be computed ("aliquot-kernels 1", then lines
/// "kernel vector_add" and "global NAME BYTES"), the PTX of aliquot-probe is computed as well; whatever else a program loads is taken for code that
/// takes time and computes nothing, with a kernel of every name.
namespace aliquot::sim {

/// The kernel of aliquot-probe in its PTX.
inline constexpr std::string_view kProbeKernel = "aliquot_probe";

/// context   nullptr: of a library
CUmod_st* load_image(CUcontext context, const void* image);
std::optional<std::string> read_image(const char* file);
void unload(CUmod_st& module);

/// nullptr: the image has no such kernel.
CUfunc_st* find_function(CUmod_st& module, std::string_view name);

struct Global {
    CUresult result;
    std::uint64_t address;
    std::uint64_t bytes;
};
Global find_global(CUmod_st& module, std::string_view name);

}  // namespace aliquot::sim
