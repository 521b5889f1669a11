// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace aliquot {

/// Threads that carry out tasks in the order they come; a further one starts when all are busy.
/// Tasks that are slow by design have a lane of their own: it is served when the quick one is empty,
/// by one thread at a time, so that they never hold up the others. Thread-safe.
class ThreadPool {
public:
    using Task = std::function<void()>;  // must not throw
    enum class Lane : std::uint8_t { kQuick, kSlow };

    /// name   of the threads, at most 15 bytes
    /// Throws std::system_error when not one thread can be started.
    ThreadPool(unsigned most_threads, std::string name);
    ~ThreadPool();  // ends what runs, forgets what waits
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    void submit(Task task, Lane lane = Lane::kQuick);

private:
    void add_thread();
    void run(const std::stop_token& stop);

    const unsigned most_threads_;
    const std::string name_;
    std::mutex mutex_;  // guards what follows
    std::condition_variable_any changed_;
    std::deque<Task> quick_;
    std::deque<Task> slow_;
    bool slow_busy_ = false;
    bool ending_ = false;
    unsigned waiting_ = 0;
    std::vector<std::jthread> threads_;  // last: they use all the others
};

/// Calls work(0) to work(count - 1), each once and in no order, on at most `most_threads` threads, the
/// caller's among them; 0: as many as the machine has cores. Returns when all are done.
/// each_thread   how many calls make a further thread worth its start
void for_each_in_parallel(std::size_t count, std::size_t most_threads,
                          const std::function<void(std::size_t)>& work,
                          std::size_t each_thread = 1);

}  // namespace aliquot
