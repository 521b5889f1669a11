// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/guard/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include "abi/cuda.h"

extern "C" {

int plugin_allocate(unsigned long long* pointer, unsigned long bytes) {
    return cuMemAlloc_v2(pointer, bytes);
}
int plugin_free(unsigned long long pointer) { return cuMemFree_v2(pointer); }

// As a wrapper library does it.
pid_t getpid() noexcept { return -1; }
int plugin_next_getpid() {
    const auto next = reinterpret_cast<pid_t (*)()>(::dlsym(RTLD_NEXT, "getpid"));
    return next == nullptr ? -2 : next();
}
void* plugin_next(const char* name) { return ::dlsym(RTLD_NEXT, name); }
void* plugin_default(const char* name) { return ::dlsym(RTLD_DEFAULT, name); }

}  // extern "C"
