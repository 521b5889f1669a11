// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

namespace aliquot {

/// The newest version of an immutable value, handed from one thread to many.
///
/// A reader never sees half a value and never waits for the writer's work: it copies a pointer.
/// Thread-safe. The version starts at 0 (nothing published) and grows by one with each publish.
template <class T>
class Latest {
public:
    struct Seen {
        std::shared_ptr<const T> value;  // empty until the first publish
        std::uint64_t version = 0;
    };

    void publish(T value) {
        auto next = std::make_shared<const T>(std::move(value));
        {
            const std::scoped_lock lock(mutex_);
            value_ = std::move(next);
            ++version_;
        }
        changed_.notify_all();
    }

    [[nodiscard]] Seen get() const {
        const std::scoped_lock lock(mutex_);
        return {value_, version_};
    }

    /// Waits for a version above `seen`; returns what is there when it comes, when `timeout` has
    /// passed or when a stop is requested (then the version may still be `seen`).
    [[nodiscard]] Seen wait_newer(std::uint64_t seen, std::chrono::milliseconds timeout,
                                  std::stop_token stop = {}) const {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, timeout, [&] { return version_ > seen; });
        return {value_, version_};
    }

private:
    mutable std::mutex mutex_;
    mutable std::condition_variable_any changed_;
    std::shared_ptr<const T> value_;
    std::uint64_t version_ = 0;
};

}  // namespace aliquot
