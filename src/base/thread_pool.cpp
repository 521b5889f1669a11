// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace aliquot {

ThreadPool::ThreadPool(unsigned most_threads, std::string name)
    : most_threads_(std::max(most_threads, 1U)), name_(std::move(name)) {
    const std::scoped_lock lock(mutex_);
    add_thread();
}

ThreadPool::~ThreadPool() {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    for (std::jthread& thread : threads_) thread.request_stop();
}

void ThreadPool::add_thread() {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    ::pthread_setname_np(threads_.back().native_handle(), name_.c_str());
}

void ThreadPool::submit(Task task, Lane lane) {
    {
        const std::scoped_lock lock(mutex_);
        if (ending_) return;
        (lane == Lane::kSlow ? slow_ : quick_).push_back(std::move(task));
        if (quick_.size() > waiting_ && threads_.size() < most_threads_) {
            try {
                add_thread();
            } catch (const std::system_error& problem) {
                log::warning("thread_pool.thread_refused",
                             {{"pool", name_}, {"reason", problem.what()}});
            }
        }
    }
    changed_.notify_one();
}

void ThreadPool::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
        ++waiting_;
        const bool work = changed_.wait(
            lock, stop, [this] { return !quick_.empty() || (!slow_.empty() && !slow_busy_); });
        --waiting_;
        if (!work || stop.stop_requested()) return;
        const bool slow = quick_.empty();
        std::deque<Task>& lane = slow ? slow_ : quick_;
        Task task = std::move(lane.front());
        lane.pop_front();
        if (slow) slow_busy_ = true;
        lock.unlock();
        task();
        task = nullptr;  // what it holds ends here, without the lock
        lock.lock();
        if (slow) slow_busy_ = false;
        if (!slow_.empty()) changed_.notify_one();
    }
}

void for_each_in_parallel(std::size_t count, std::size_t most_threads,
                          const std::function<void(std::size_t)>& work, std::size_t each_thread) {
    std::atomic<std::size_t> next{0};
    const auto take = [&] {
        for (std::size_t i = next++; i < count; i = next++) work(i);
    };
    if (most_threads == 0) most_threads = std::max(std::thread::hardware_concurrency(), 1U);
    const std::size_t wanted =
        std::min(most_threads, (count + each_thread - 1) / std::max<std::size_t>(each_thread, 1));
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(take);
    take();
}

}  // namespace aliquot
