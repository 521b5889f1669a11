// SPDX-License-Identifier: Apache-2.0
#include "kube_client/work_queue.h"

#include <algorithm>
#include <string>

namespace aliquot::kube_client {

std::size_t WorkQueue::Hash::operator()(const ObjectKey& key) const {
    const std::hash<std::string> hash;
    return hash(key.namespace_name) * 31 + hash(key.name);
}

WorkQueue::WorkQueue(WorkQueueOptions options)
    : options_(options),
      jitter_(
          static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count())) {
}

bool WorkQueue::add_locked(const ObjectKey& key, bool though_full) {
    if (waiting_.contains(key)) return true;
    if (!though_full && waiting_.size() + later_of_.size() >= options_.most_keys) return false;
    waiting_.insert(key);
    // One that is worked on comes when that has ended.
    if (!taken_.contains(key)) ready_.push_back(key);
    return true;
}

bool WorkQueue::add(const ObjectKey& key) {
    bool added = false;
    {
        const std::scoped_lock lock(mutex_);
        added = add_locked(key, false);
    }
    changed_.notify_one();
    return added;
}

bool WorkQueue::add_later_locked(const ObjectKey& key, Time due, bool though_full) {
    const auto known = later_of_.find(key);
    if (known != later_of_.end()) {
        if (known->second <= due) return true;  // the earlier of the two counts
        later_.erase({known->second, key});
        known->second = due;
    } else {
        if (!though_full && waiting_.size() + later_of_.size() >= options_.most_keys) return false;
        later_of_.emplace(key, due);
    }
    ++changes_;
    later_.emplace(due, key);
    return true;
}

bool WorkQueue::add_after(const ObjectKey& key, std::chrono::milliseconds wait) {
    if (wait.count() <= 0) return add(key);
    bool added = false;
    {
        const std::scoped_lock lock(mutex_);
        added = add_later_locked(key, std::chrono::steady_clock::now() + wait, false);
    }
    changed_.notify_one();
    return added;
}

void WorkQueue::move_due_locked(Time now) {
    while (!later_.empty() && later_.begin()->first <= now) {
        const ObjectKey key = later_.begin()->second;
        later_.erase(later_.begin());
        later_of_.erase(key);
        (void)add_locked(key, true);  // it had its place already
    }
}

std::optional<ObjectKey> WorkQueue::take(std::stop_token stop, std::chrono::milliseconds timeout) {
    const Time end = std::chrono::steady_clock::now() + timeout;
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        const Time now = std::chrono::steady_clock::now();
        move_due_locked(now);
        if (!ready_.empty()) {
            ObjectKey key = std::move(ready_.front());
            ready_.pop_front();
            waiting_.erase(key);
            taken_.insert(key);
            return key;
        }
        if (now >= end) return {};
        const Time next = later_.empty() ? end : std::min(end, later_.begin()->first);
        const std::uint64_t known = changes_;
        changed_.wait_until(lock, stop, next, [&] { return !ready_.empty() || changes_ != known; });
    }
    return {};
}

void WorkQueue::finish_locked(const ObjectKey& key) {
    if (taken_.erase(key) != 0 && waiting_.contains(key)) ready_.push_back(key);
}

void WorkQueue::done(const ObjectKey& key) {
    {
        const std::scoped_lock lock(mutex_);
        failures_.erase(key);
        finish_locked(key);
    }
    changed_.notify_one();
}

std::chrono::milliseconds WorkQueue::retry(const ObjectKey& key) {
    std::chrono::milliseconds wait{};
    {
        const std::scoped_lock lock(mutex_);
        const unsigned failures = ++failures_[key];
        const unsigned doublings = std::min(failures - 1, 30U);
        wait = jitter_.around(
            std::min(options_.first_wait * (std::int64_t{1} << doublings), options_.longest_wait));
        finish_locked(key);
        // A key that failed is never lost, however full the queue is.
        (void)add_later_locked(key, std::chrono::steady_clock::now() + wait, true);
    }
    changed_.notify_one();
    return wait;
}

std::size_t WorkQueue::size() const {
    const std::scoped_lock lock(mutex_);
    std::size_t both = 0;  // worked on, and to come again
    for (const auto& key : taken_) both += waiting_.contains(key) ? 1 : 0;
    return waiting_.size() + taken_.size() + later_.size() - both;
}

unsigned WorkQueue::failures(const ObjectKey& key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = failures_.find(key);
    return found == failures_.end() ? 0 : found->second;
}

}  // namespace aliquot::kube_client
