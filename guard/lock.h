// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "guard/kernel.h"

namespace aliquot::guard {

/// A lock between the threads of this process. All zero is free; no constructor, so that it can lie
/// in zeroed memory.
class ThreadLock {
public:
    void lock() {
        std::uint32_t free = 0;
        if (word_.compare_exchange_strong(free, 1, std::memory_order_acquire)) return;
        while (word_.exchange(2, std::memory_order_acquire) != 0)
            kernel::wait(word_, 2, 50'000'000, false);
    }
    bool try_lock() {
        std::uint32_t free = 0;
        return word_.compare_exchange_strong(free, 1, std::memory_order_acquire);
    }
    void unlock() {
        if (word_.exchange(0, std::memory_order_release) == 2) kernel::wake(word_, 1, false);
    }
    /// For the child of a fork: whoever held it is not there.
    void forget() { word_.store(0, std::memory_order_relaxed); }

private:
    std::atomic<std::uint32_t> word_{0};
};

class ThreadLocked {
public:
    explicit ThreadLocked(ThreadLock& lock) : lock_(lock) { lock_.lock(); }
    ~ThreadLocked() { lock_.unlock(); }
    ThreadLocked(const ThreadLocked&) = delete;
    ThreadLocked& operator=(const ThreadLocked&) = delete;

private:
    ThreadLock& lock_;
};

}  // namespace aliquot::guard
