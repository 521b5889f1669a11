// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>

namespace aliquot::sim {

/// The only T of the process, never destroyed: threads may still call while the program ends. Not
/// on the heap, so that unloading the library leaves nothing behind.
template <class T>
T& immortal() {
    alignas(T) static std::byte storage[sizeof(T)];
    static T* const only = new (storage) T;
    return *only;
}

}  // namespace aliquot::sim
