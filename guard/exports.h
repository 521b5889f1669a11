// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "abi/cuda.h"
#include "abi/nvml.h"

/// Everything of the driver's names that the guard exports. With dlsym, dlvsym and dlopen, nothing
/// else is visible.
#define GUARD_EXPORT extern "C" __attribute__((visibility("default")))

#define HOOK(symbol, like) GUARD_EXPORT decltype(::like) symbol;
#include "guard/hooks.inc"
#undef HOOK
#define NVML_HOOK(symbol) GUARD_EXPORT decltype(::symbol) symbol;
#include "guard/nvml_hooks.inc"
#undef NVML_HOOK
