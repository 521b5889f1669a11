// SPDX-License-Identifier: Apache-2.0
#include "guard/driver.h"

#include <dlfcn.h>

#include "guard/forks.h"
#include "guard/loader.h"
#include "guard/lock.h"

namespace aliquot::guard {

Driver g_driver;
Nvml g_nvml;

namespace {

ThreadLock g_lock;
std::atomic<bool> g_driver_found{false};
std::atomic<void*> g_driver_handle{nullptr};
std::atomic<bool> g_nvml_found{false};

/// Behind the names that the driver does not have, so that no caller needs to ask.
int absent() { return CUDA_ERROR_NOT_INITIALIZED; }
int absent_nvml() { return NVML_ERROR_FUNCTION_NOT_FOUND; }
static_assert(CUDA_ERROR_NOT_INITIALIZED == 3);

template <class Function>
void take(Function& slot, void* handle, const char* symbol) {
    void* found = handle == nullptr ? nullptr : loader().dlsym(handle, symbol);
    const bool cuda = symbol[0] == 'c';
    if (found == nullptr) found = reinterpret_cast<void*>(cuda ? absent : absent_nvml);
    __atomic_store_n(&slot, reinterpret_cast<Function>(found), __ATOMIC_RELEASE);
}

void take_driver(void* handle) {
#define HOOK(symbol, like) take(g_driver.symbol, handle, #symbol);
#define CALL(symbol, like) take(g_driver.symbol, handle, #symbol);
#include "guard/calls.inc"
#include "guard/hooks.inc"
#undef HOOK
#undef CALL
    g_driver_handle.store(handle, std::memory_order_relaxed);
    g_driver_found.store(handle != nullptr, std::memory_order_release);
}

void take_nvml(void* handle) {
#define NVML_HOOK(symbol) take(g_nvml.symbol, handle, #symbol);
#define NVML_CALL(symbol) take(g_nvml.symbol, handle, #symbol);
#include "guard/nvml_calls.inc"
#include "guard/nvml_hooks.inc"
#undef NVML_HOOK
#undef NVML_CALL
    g_nvml_found.store(handle != nullptr, std::memory_order_release);
}

bool find(std::atomic<bool>& found, const char* library, int flags, void (*take_all)(void*)) {
    if (found.load(std::memory_order_acquire)) return true;
    watch_forks();
    // Not under our lock: the loader has locks of its own, and initialisers that may call us.
    void* handle = loader().dlopen(library, RTLD_LAZY | RTLD_LOCAL | flags);
    const ThreadLocked locked(g_lock);
    if (!found.load(std::memory_order_relaxed)) take_all(handle);
    loader().dlerror();  // what was not found here is no error of the program
    return handle != nullptr;
}

}  // namespace

bool find_driver() { return find(g_driver_found, "libcuda.so.1", RTLD_NOLOAD, take_driver); }
bool find_nvml() { return find(g_nvml_found, "libnvidia-ml.so.1", RTLD_NOLOAD, take_nvml); }
bool load_nvml() { return find(g_nvml_found, "libnvidia-ml.so.1", 0, take_nvml); }

void forget_driver_lock() { g_lock.forget(); }

void* driver_handle() { return g_driver_handle.load(std::memory_order_relaxed); }

bool is_absent(const void* entry) {
    return entry == nullptr || entry == reinterpret_cast<void*>(absent) ||
           entry == reinterpret_cast<void*>(absent_nvml);
}

bool adopt(Family family, void* handle) {
    const bool cuda = family == Family::kCuda;
    std::atomic<bool>& found = cuda ? g_driver_found : g_nvml_found;
    watch_forks();
    const ThreadLocked locked(g_lock);
    if (!found.load(std::memory_order_relaxed)) (cuda ? take_driver : take_nvml)(handle);
    loader().dlerror();
    return true;
}

}  // namespace aliquot::guard
