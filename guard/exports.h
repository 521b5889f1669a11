// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "abi/cuda.h"
#include "abi/nvml.h"

/// Everything of the driver's names that the guard exports. With dlsym, dlvsym and dlopen, nothing
/// else is visible.
///
/// They have a version that is not the default one: a program that is linked with the driver, which
/// has no versions, binds to them; a program that asks dlsym() whether there is a driver does not
/// see them.
///
/// A definition begins with GUARD_EXPORT(name).
#define GUARD_VISIBLE extern "C" __attribute__((visibility("default")))
#if defined(__clang__)  // knows no attribute for it
#define GUARD_VERSION(symbol) __asm__(".symver " #symbol ", " #symbol "@ALIQUOT_1");
#define GUARD_EXPORT(symbol) GUARD_VERSION(symbol) GUARD_VISIBLE
#else
#define GUARD_VERSION(symbol) __attribute__((symver(#symbol "@ALIQUOT_1")))
#define GUARD_EXPORT(symbol) GUARD_VISIBLE GUARD_VERSION(symbol)
#endif

#define HOOK(symbol, like) GUARD_VISIBLE decltype(::like) symbol;
#include "guard/hooks.inc"
#undef HOOK
#define NVML_HOOK(symbol) GUARD_VISIBLE decltype(::symbol) symbol;
#include "guard/nvml_hooks.inc"
#undef NVML_HOOK
