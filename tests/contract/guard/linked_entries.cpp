// SPDX-License-Identifier: Apache-2.0
//
// Every entry point by its name as the dynamic linker binds it: for the probe that is linked with
// the driver's library. No header of CUDA here, so that all can be declared alike.
#include <cstring>

extern "C" {
#define CUDA_SYMBOL(base, version, per_thread, exported) int exported();
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL
}

namespace aliquot::guardkit {

extern void* (*linked_entry)(const char* exported);

namespace {

void* find(const char* name) {
    static const struct {
        const char* name;
        int (*address)();
    } entries[] = {
#define CUDA_SYMBOL(base, version, per_thread, exported) {#exported, exported},
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL
    };
    for (const auto& entry : entries) {
        if (std::strcmp(entry.name, name) == 0) return reinterpret_cast<void*>(entry.address);
    }
    return nullptr;
}

[[maybe_unused]] const bool kSet = [] {
    linked_entry = find;
    return true;
}();

}  // namespace
}  // namespace aliquot::guardkit
