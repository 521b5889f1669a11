// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <unordered_map>
#include <unordered_set>

#include "kube_client/rate_limiter.h"
#include "kube_client/resource.h"

namespace aliquot::kube_client {

struct WorkQueueOptions {
    /// The wait before a key comes back after its nth failure in a row: doubles, each +-20 %.
    std::chrono::milliseconds first_wait{5};
    std::chrono::milliseconds longest_wait{60'000};
    /// Keys that wait at once; add() of a further one is refused.
    std::size_t most_keys = 1'000'000;
};

/// Keys that need work, level-triggered: a key that is added while it waits is there once, one that
/// is added while it is worked on comes again after that, and never twice at a time. What the work
/// is is looked up when it begins. Thread-safe, for any number of workers.
///
///     while (const auto key = queue.take(stop)) {
///         reconcile(*key) ? queue.done(*key) : queue.retry(*key);
///     }
class WorkQueue {
public:
    using Time = std::chrono::steady_clock::time_point;

    explicit WorkQueue(WorkQueueOptions options);
    WorkQueue() : WorkQueue(WorkQueueOptions{}) {}

    /// False: the queue is full and the key is not in it.
    bool add(const ObjectKey& key);
    bool add_after(const ObjectKey& key, std::chrono::milliseconds wait);

    /// The next key, when there is one; it is ours until done() or retry(). Empty: a stop came, or
    /// `timeout` passed.
    std::optional<ObjectKey> take(std::stop_token stop,
                                  std::chrono::milliseconds timeout = std::chrono::hours(24));

    /// The work on a key succeeded: its failures are forgotten.
    void done(const ObjectKey& key);
    /// It failed: the key comes back after its wait. Returns the wait.
    std::chrono::milliseconds retry(const ObjectKey& key);

    [[nodiscard]] std::size_t size() const;  // that wait or are worked on
    [[nodiscard]] unsigned failures(const ObjectKey& key) const;

private:
    struct Hash {
        std::size_t operator()(const ObjectKey& key) const;
    };
    bool add_locked(const ObjectKey& key, bool though_full);
    bool add_later_locked(const ObjectKey& key, Time due, bool though_full);
    void move_due_locked(Time now);
    void finish_locked(const ObjectKey& key);

    const WorkQueueOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<ObjectKey> ready_;
    std::unordered_set<ObjectKey, Hash> waiting_;  // in ready_, or to come again after its work
    std::unordered_set<ObjectKey, Hash> taken_;
    std::set<std::pair<Time, ObjectKey>> later_;
    std::unordered_map<ObjectKey, Time, Hash> later_of_;
    std::unordered_map<ObjectKey, unsigned, Hash> failures_;
    std::uint64_t changes_ = 0;  // of later_
    Jitter jitter_;
};

}  // namespace aliquot::kube_client
