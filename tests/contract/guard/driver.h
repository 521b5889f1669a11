// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "abi/nvml.h"
#include "tests/contract/guard/cuda_more.h"
#include "tests/contract/guard/probe.h"

/// The driver's libraries as the checks reach them: by the route under test, or past the guard.
namespace aliquot::guardkit {

/// How entry points are found.
enum class Route {
    kDlsym,      // dlopen and dlsym
    kGetProc,    // cuGetProcAddress_v2, found by dlsym: as the CUDA runtime
    kPerThread,  // the same with the flag for the per-thread default stream, where there is one
    kLinked,     // the program is linked with the library
};
void set_route(Route route);
Route route();
/// Set by the program that is linked with the library: address of an entry point as the dynamic
/// linker bound it.
extern void* (*linked_entry)(const char* exported);

/// What dlopen("libcuda.so.1") gives; opened once. Skips where there is no such library.
void* cuda_library();
void* nvml_library();

/// An entry point by the route; fails when it is not there. Thread-safe.
void* entry(const char* exported);
/// The driver's own, read from its tables.
void* bare_entry(const char* exported);
void* nvml_entry(const char* exported);
void* bare_nvml_entry(const char* exported);

/// The file of the guard that is loaded; empty: none.
std::string guard_object();
bool is_guards(const void* address);

/// One row of abi/cuda_symbols.inc.
struct SymbolRow {
    const char* base;
    int version;
    int per_thread;
    const char* exported;
};
const std::vector<SymbolRow>& symbol_rows();
const SymbolRow* row_of(const char* exported);

/// cuInit, and the primary context of a device made current; fails otherwise.
CUcontext start_cuda(int ordinal = 0);

/// Bytes that the driver itself says are in use on the GPU, by everybody, with what it keeps for
/// itself: NVML's place in the order of its own, so CUDA_VISIBLE_DEVICES does not count.
std::uint64_t physical_used(unsigned gpu = 0);
std::uint64_t physical_total(unsigned gpu = 0);
/// Used before anything of this check ran.
std::uint64_t physical_base(unsigned gpu = 0);
/// The UUID in 16 bytes, by NVML's order.
void gpu_uuid(unsigned gpu, unsigned char* bytes);
nvmlDevice_t bare_device(unsigned gpu);

struct View {
    std::uint64_t free = 0;
    std::uint64_t total = 0;
};
/// cuMemGetInfo by the route; fails when it answers an error.
View memory_view();

}  // namespace aliquot::guardkit

#define CU(name) (reinterpret_cast<decltype(&name)>(::aliquot::guardkit::entry(#name)))
#define BARE(name) (reinterpret_cast<decltype(&name)>(::aliquot::guardkit::bare_entry(#name)))
#define NVML(name) (reinterpret_cast<decltype(&name)>(::aliquot::guardkit::nvml_entry(#name)))
#define BARE_NVML(name) \
    (reinterpret_cast<decltype(&name)>(::aliquot::guardkit::bare_nvml_entry(#name)))
