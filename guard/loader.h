// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The dynamic loader's own functions, behind the dlsym, dlvsym and dlopen that the guard exports.
namespace aliquot::guard {

struct Loader {
    void* (*dlsym)(void* handle, const char* name);
    void* (*dlvsym)(void* handle, const char* name, const char* version);
    void* (*dlopen)(const char* file, int flags);
    char* (*dlerror)();
};

extern "C" {
/// Filled by guard_find_loader(). Hidden; read by the jumps in boot_*.S.
extern Loader guard_loader;
/// Finds them in the C library's symbol table: asking the loader for "dlsym" would give our own.
void guard_find_loader();
}

/// guard_loader, filled.
const Loader& loader();

/// Whether the loaded object that contains `address` calls itself (or lies in a file called)
/// `name`, maybe with something after it: "libcuda.so".
bool lies_in(const void* address, const char* name);

}  // namespace aliquot::guard
