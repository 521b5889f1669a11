// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "abi/cuda.h"

/// The rule by which the driver hands out its entry points.
namespace aliquot::sim {

struct Route {
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const char* exported = nullptr;  // name of the symbol; nullptr unless status is success
    unsigned row = 0;                // of abi/cuda_symbols.inc, then
};

/// What cuGetProcAddress means by a base name.
/// wanted_version   CUDA version the caller was written for
/// driver_version   entry points newer than the driver do not exist
Route route(std::string_view base, int wanted_version, std::uint64_t flags, int driver_version);

/// The address of the entry point in a row of abi/cuda_symbols.inc.
void* entry_address(unsigned row);

}  // namespace aliquot::sim
