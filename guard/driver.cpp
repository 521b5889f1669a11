// SPDX-License-Identifier: Apache-2.0
#include "guard/driver.h"

#include <dlfcn.h>

#include <cstring>

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

/// Takes the entry points of these names to `places`, one after the other.
template <std::size_t N>
void** take(void* handle, const char (&names)[N], void* absence, void** places) {
    void* found[names_in(names)];
    find_exports(handle, names, found);
    const char* name = names;
    for (void* one : found) {
        if (one == nullptr && handle != nullptr) one = loader().dlsym(handle, name);
        __atomic_store_n(places++, one == nullptr ? absence : one, __ATOMIC_RELEASE);
        name += std::strlen(name) + 1;
    }
    return places;
}

void take_driver(void* handle) {
    auto* const absence = reinterpret_cast<void*>(absent);
    void** hooks = take(handle, kCudaCalls, absence, reinterpret_cast<void**>(&g_driver));
    take(handle, kCudaHooks, absence, hooks);
    g_driver_handle.store(handle, std::memory_order_relaxed);
    g_driver_found.store(handle != nullptr, std::memory_order_release);
}

void take_nvml(void* handle) {
    auto* const absence = reinterpret_cast<void*>(absent_nvml);
    void** hooks = take(handle, kNvmlCalls, absence, reinterpret_cast<void**>(&g_nvml));
    take(handle, kNvmlHooks, absence, hooks);
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
