// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "abi/cuda.h"
#include "abi/nvml.h"

/// The real entry points behind those the guard exports. A process that never touches CUDA or NVML
/// never gets here.
namespace aliquot::guard {

/// Entry points of the real libcuda.so.1. After find_driver() each can be called: one that this
/// driver does not have answers CUDA_ERROR_NOT_INITIALIZED.
struct Driver {
#define HOOK(symbol, like) decltype(&::like) symbol;
#define CALL(symbol, like) decltype(&::like) symbol;
#include "guard/calls.inc"
#include "guard/hooks.inc"
#undef HOOK
#undef CALL
};

/// The same of the real libnvidia-ml.so.1.
struct Nvml {
#define NVML_HOOK(symbol) decltype(&::symbol) symbol;
#define NVML_CALL(symbol) decltype(&::symbol) symbol;
#include "guard/nvml_calls.inc"
#include "guard/nvml_hooks.inc"
#undef NVML_HOOK
#undef NVML_CALL
};

extern Driver g_driver;
extern Nvml g_nvml;

/// Their names, each ended by a zero, in the order of their places there: calls, then hooks. Not tables of
/// addresses: each of those is a word that the loader would have to write in every program that is started.
#define HOOK(symbol, like) #symbol "\0"
#define CALL(symbol, like) #symbol "\0"
#define NVML_HOOK(symbol) #symbol "\0"
#define NVML_CALL(symbol) #symbol "\0"
inline constexpr char kCudaCalls[] =
#include "guard/calls.inc"
    ;
inline constexpr char kCudaHooks[] =
#include "guard/hooks.inc"
    ;
inline constexpr char kNvmlCalls[] =
#include "guard/nvml_calls.inc"
    ;
inline constexpr char kNvmlHooks[] =
#include "guard/nvml_hooks.inc"
    ;
#undef HOOK
#undef CALL
#undef NVML_HOOK
#undef NVML_CALL

template <std::size_t N>
constexpr std::size_t names_in(const char (&names)[N]) {
    std::size_t count = 0;
    for (std::size_t i = 0; i + 1 < N; ++i) count += names[i] == '\0' ? 1 : 0;
    return count;
}
static_assert(sizeof(Driver) == (names_in(kCudaCalls) + names_in(kCudaHooks)) * sizeof(void*));
static_assert(sizeof(Nvml) == (names_in(kNvmlCalls) + names_in(kNvmlHooks)) * sizeof(void*));

/// Finds the real entry points of a library that is loaded. Once; later calls are one load.
/// returns  whether there are any
bool find_driver();
bool find_nvml();
/// Loads NVML where it is not: for the guard's own questions.
bool load_nvml();

/// For the child of a fork: whoever took the entry points is not there.
void forget_driver_lock();
/// The driver that the guard stands in front of: a handle, for what it has no hook for. nullptr: none.
void* driver_handle();

/// Whether this is the stand-in for an entry point that the library does not have.
bool is_absent(const void* entry);

/// `handle` is of the library of that family, which may have a name that find_driver() does not
/// know: takes its entry points, if there are none yet.
enum class Family : std::uint8_t { kCuda, kNvml };
bool adopt(Family family, void* handle);

}  // namespace aliquot::guard
