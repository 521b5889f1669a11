// SPDX-License-Identifier: Apache-2.0
//
// The plain driver: every export there is, answered CUDA_ERROR_NOT_SUPPORTED where plain_driver.cpp
// has nothing better, and the table behind cuGetProcAddress. No header of CUDA here, so that all can
// be declared alike.
#include <cstring>

extern "C" {
#define CUDA_SYMBOL(base, version, per_thread, exported) \
    __attribute__((weak, visibility("default"))) int exported() { return 801; }
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL
}

namespace aliquot::guardkit {

// One that is older than what programs are built for lacks the later interfaces (behind.map).
#if defined(ALIQUOT_GUARD_KIT_BEHIND)
constexpr int kNewest = 12010;
#else
constexpr int kNewest = 99999;
#endif

struct PlainAddress {
    void* address;
    int status;
};

/// As cuGetProcAddress: the newest version that is not above the wanted one.
PlainAddress plain_address(const char* name, int version, bool per_thread);

PlainAddress plain_address(const char* name, int version, bool per_thread) {
    static const struct {
        const char* base;
        int version;
        int per_thread;
        int (*address)();
    } entries[] = {
#define CUDA_SYMBOL(base, version, per_thread, exported) {#base, version, per_thread, exported},
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL
    };
    PlainAddress found{.address = nullptr, .status = 1};
    int best = -1;
    bool best_per_thread = false;
    for (const auto& entry : entries) {
        if (std::strcmp(entry.base, name) != 0) continue;
        if (entry.version > kNewest) continue;
        if (found.status == 1) found.status = 2;
        const bool mine = entry.per_thread != 0;
        if (entry.version > version || (mine && !per_thread)) continue;
        if (best_per_thread && !mine) continue;
        if (mine == best_per_thread && entry.version < best) continue;
        best = entry.version;
        best_per_thread = mine;
        found = {.address = reinterpret_cast<void*>(entry.address), .status = 0};
    }
    return found;
}

}  // namespace aliquot::guardkit
