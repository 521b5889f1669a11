// SPDX-License-Identifier: Apache-2.0
// Every entry point that the driver exports. Those that another file defines override what is here;
// the others answer that this device cannot do it. Their arguments are not looked at, so one
// prototype does for all of them.
#include "sim/cuda/trace.h"

namespace {

constexpr int kNotSupported = 801;  // CUDA_ERROR_NOT_SUPPORTED

int unsupported(const char* entry_point) {
    if (aliquot::sim::tracing) aliquot::sim::trace(entry_point, " is not supported");
    return kNotSupported;
}

}  // namespace

#define CUDA_SYMBOL(base, version, per_thread, exported) \
    extern "C" __attribute__((weak)) int exported(void); \
    extern "C" __attribute__((weak)) int exported(void) { return unsupported(#exported); }
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL

namespace aliquot::sim {

void* entry_address(unsigned row);

void* entry_address(unsigned row) {
    // Not constants: which definition wins is known when the library is linked.
    static int (*const kAddresses[])(void) = {
#define CUDA_SYMBOL(base, version, per_thread, exported) exported,
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL
    };
    return reinterpret_cast<void*>(kAddresses[row]);
}

}  // namespace aliquot::sim
