// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>

#include "scheduling/books.h"

namespace aliquot::controller {

/// The books, for several threads. Each use has them alone until the end of its statement:
///
///     books->set_pod(pod);
///     if (auto use = books.within(200ms)) use->bind(pod, node);
///
/// A statement uses them once: two in one would wait for each other.
class SharedBooks {
public:
    class Use {
    public:
        Use(scheduling::Books& books, std::unique_lock<std::timed_mutex> lock)
            : books_(books), lock_(std::move(lock)) {}
        scheduling::Books* operator->() { return &books_; }
        scheduling::Books& operator*() { return books_; }
        explicit operator bool() const { return lock_.owns_lock(); }

    private:
        scheduling::Books& books_;
        std::unique_lock<std::timed_mutex> lock_;
    };

    explicit SharedBooks(scheduling::Books::Options options) : books_(options) {}

    Use operator->() { return {books_, std::unique_lock(mutex_)}; }
    /// False: others had them all the time.
    Use within(std::chrono::milliseconds patience) {
        return {books_, std::unique_lock(mutex_, patience)};
    }

private:
    std::timed_mutex mutex_;
    scheduling::Books books_;  // guarded by mutex_
};

}  // namespace aliquot::controller
