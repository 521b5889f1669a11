// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The dynamic loader's own functions, behind the dlsym, dlvsym, dlopen and dlmopen that the guard
/// exports.
namespace aliquot::guard {

struct Loader {
    void* (*dlsym)(void* handle, const char* name);
    void* (*dlvsym)(void* handle, const char* name, const char* version);
    void* (*dlopen)(const char* file, int flags);
    char* (*dlerror)();
    void* (*dlmopen)(long space, const char* file, int flags);
    int (*dlclose)(void* handle);
    int (*dladdr)(const void* address, void* info);
};

extern "C" {
/// Filled by guard_find_loader(). Hidden; read by the jumps in boot_*.S.
extern Loader guard_loader;
/// Finds them in the C library's symbol table: asking the loader for "dlsym" would give our own.
void guard_find_loader();
}

/// guard_loader, filled.
const Loader& loader();

/// The functions of these names, each ended by a zero, that one loaded object exports itself; the default
/// version where there are several. nullptr: it has none, or says so itself (IFUNC). Where there are
/// hundreds of names, dlsym takes several times as long.
/// handle   of the loader; nullptr: there are none
void find_exports(const void* handle, const char* names, void** found);
/// What the guard itself exports, whatever version it has.
void* exported_by_guard(const char* name);

/// Whether the loaded object that contains `address` calls itself (or lies in a file called)
/// `name`, maybe with something after it: "libcuda.so".
bool lies_in(const void* address, const char* name);

/// Whether the loaded object that contains `address`, in whatever namespace of the linker and under
/// whatever name, is a CUDA driver: by what it exports.
bool is_driver(const void* address);
/// Whether two addresses lie in the same loaded object.
bool same_object(const void* one, const void* other);
/// What dlsym(RTLD_DEFAULT, name) finds for code at `caller` in the scope of its own object, where
/// nothing is visible to all; nullptr: nothing.
void* find_for(const void* caller, const char* name);
/// Sets back to null what the programs and libraries loaded so far refer to weakly, found in the guard,
/// and would not find without it: no other object defines the name. For the time before main(), when
/// nobody else writes there.
/// is_hook   whether the guard defines a name to stand in front of another library's
void unbind_weak_references(bool (*is_hook)(const char* name));
/// Whether the handle's namespace of the linker has a CUDA driver.
bool namespace_has_driver(void* handle);

}  // namespace aliquot::guard
