// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include "sim/node/immortal.h"

/// Where handles point to.
namespace aliquot::sim {

/// Objects of one kind. Their memory is never given back, so that a handle that was destroyed can be
/// told from a living one: its `magic` is no longer that of its type. Thread-safe.
template <class T>
class Objects {
public:
    template <class... Arguments>
    T* make(Arguments&&... arguments) {
        void* memory = nullptr;
        {
            const std::lock_guard lock(mutex_);
            if (!free_.empty()) {
                memory = free_.back();
                free_.pop_back();
            } else {
                if (next_ == kPerChunk) {
                    chunks_.push_back(static_cast<T*>(::operator new(sizeof(T) * kPerChunk)));
                    next_ = 0;
                }
                memory = chunks_.back() + next_++;
            }
        }
        T* const object = new (memory) T(static_cast<Arguments&&>(arguments)...);
        object->magic = T::kMagic;
        return object;
    }
    void destroy(T* object) {
        object->magic = 0;
        object->~T();
        object->magic = 0;
        const std::lock_guard lock(mutex_);
        free_.push_back(object);
    }

private:
    static constexpr std::size_t kPerChunk = 64;
    std::mutex mutex_;
    std::vector<T*> chunks_;
    std::vector<T*> free_;
    std::size_t next_ = kPerChunk;
};

/// Does a handle mean a living object of its type?
template <class T>
bool valid(const T* handle) {
    return reinterpret_cast<std::uintptr_t>(handle) > 0xfff &&
           reinterpret_cast<std::uintptr_t>(handle) % alignof(T) == 0 && handle->magic == T::kMagic;
}

template <class T>
Objects<T>& objects() {
    return immortal<Objects<T>>();
}

}  // namespace aliquot::sim
