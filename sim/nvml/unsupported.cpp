// SPDX-License-Identifier: Apache-2.0
//
// Every other name that NVIDIA's library exports. Clients that bind lazily (all Go programs) abort
// when they call a symbol that does not exist; with these they get an answer.
#include "sim/nvml/library.h"

using aliquot::sim::Session;

// The arguments of these calls are never looked at, so the C calling convention lets one signature
// stand for all.
#define UNSUPPORTED(name)                                                                \
    extern "C" nvmlReturn_t name(void);                                                  \
    extern "C" nvmlReturn_t name(void) {                                                 \
        return Session::current() ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_UNINITIALIZED; \
    }
#include "sim/nvml/unsupported.inc"
#undef UNSUPPORTED
