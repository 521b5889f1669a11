// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "guard/driver.h"

/// Which name means which entry point, and which of them the guard stands in front of.
namespace aliquot::guard {

/// One entry point that the guard exports.
struct Hook {
    Family family = Family::kCuda;
    void* ours = nullptr;   // nullptr: there is none, it is passed through
    void** real = nullptr;  // its place in g_driver or g_nvml
    explicit operator bool() const { return ours != nullptr; }
};

/// By exported symbol.
Hook find_hook(const char* symbol);

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
