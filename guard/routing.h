// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "guard/driver.h"

/// Which name means which entry point, and which of them the guard stands in front of.
namespace aliquot::guard {

/// One entry point that the guard exports.
struct Hook {
    const char* symbol;
    Family family;
    void* ours;
    void** real;  // its place in g_driver or g_nvml
};

/// By exported symbol; nullptr: passed through.
const Hook* find_hook(const char* symbol);
/// The hook whose real entry point this is.
const Hook* find_hook_of(const char* symbol, const void* real);

/// The exported symbol that cuGetProcAddress means; nullptr: a name newer than our table, or none. Of
/// one that the driver does not have, since it is older than our table, the next older one.
/// version  as asked for: 3020 is CUDA 3.2
/// flags    CU_GET_PROC_ADDRESS_*
const char* route(const char* base, int version, std::uint64_t flags);

/// The newest CUDA version whose entry points are all in abi/cuda_symbols.inc.
inline constexpr int kTableVersion = CUDA_SYMBOLS_VERSION;

/// A name that may give out memory or start work, should a newer driver have it.
bool concerns_us(const char* base);

}  // namespace aliquot::guard
