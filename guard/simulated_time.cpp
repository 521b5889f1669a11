// SPDX-License-Identifier: Apache-2.0
#include "guard/simulated_time.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "guard/kernel.h"

namespace aliquot::guard::simulated {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

struct Task {
    std::uint64_t due_ns = 0;
    std::uint64_t order = 0;  // of those that are due at once
    const void* word = nullptr;
    std::condition_variable changed;
    std::thread thread;
};

class World {
public:
    explicit World(const Machine& machine) : machine_(machine) {}

    [[nodiscard]] std::uint64_t now() const { return now_ns_; }
    [[nodiscard]] const Machine& machine() const { return machine_; }

    void start(std::function<void()> body);
    /// Until all threads have ended.
    void join() {
        for (std::size_t i = 0;; ++i) {
            Task* task = nullptr;
            {
                const std::lock_guard lock(mutex_);
                if (i == tasks_.size()) return;
                task = &tasks_[i];
            }
            task->thread.join();
        }
    }
    void compute(std::uint64_t ns) {
        if (machine_.stalls_ppm != 0 && random_() % 1'000'000 < machine_.stalls_ppm)
            ns += random_() % machine_.stall_ns;
        const std::uint64_t slice = machine_.slice_ns;
        for (std::uint64_t left = ns; slice != 0 && left != 0;) {
            const std::uint64_t part = left < slice / 8 ? left : slice / 8;
            if (random_() % slice < part) ns += random_() % machine_.stall_ns;
            left -= part;
        }
        pause(now_ns_ + ns, nullptr);
    }
    /// The calling thread waits until a time, or until it is woken by `word`.
    void pause(std::uint64_t due_ns, const void* word) {
        std::unique_lock lock(mutex_);
        Task& mine = *current_;
        mine.due_ns = due_ns;
        mine.order = ++orders_;
        mine.word = word;
        choose();
        mine.changed.wait(lock, [&] { return current_ == &mine; });
        mine.word = nullptr;
    }
    void wake(const void* word, int count) {
        const std::lock_guard lock(mutex_);
        for (Task& task : tasks_) {
            if (count <= 0) return;
            if (task.word != word) continue;
            task.due_ns = now_ns_ + machine_.wake_ns;
            task.order = ++orders_;
            task.word = nullptr;
            --count;
        }
    }

private:
    /// Under the mutex: the clock goes on to whoever is due first.
    void choose() {
        Task* next = nullptr;
        for (Task& task : tasks_)
            if (task.due_ns != kNever &&
                (next == nullptr || task.due_ns < next->due_ns ||
                 (task.due_ns == next->due_ns && task.order < next->order)))
                next = &task;
        if (next == nullptr) {
            for (const Task& task : tasks_)
                if (task.word != nullptr) {
                    std::fputs("all threads of the simulated world wait forever\n", stderr);
                    std::abort();
                }
            current_ = nullptr;
            return;
        }
        if (next->due_ns > now_ns_) now_ns_ = next->due_ns;
        if (next == current_) return;
        current_ = next;
        next->changed.notify_one();
    }
    void end(Task& task) {
        const std::lock_guard lock(mutex_);
        task.due_ns = kNever;
        choose();
    }

    const Machine machine_;
    std::mutex mutex_;
    std::deque<Task> tasks_;
    Task* current_ = nullptr;
    std::atomic<std::uint64_t> now_ns_{1'000'000'000};
    std::uint64_t orders_ = 0;
    std::mt19937_64 random_{11};  // only the one thread that runs asks it
};

void World::start(std::function<void()> body) {
    const std::lock_guard lock(mutex_);
    Task& task = tasks_.emplace_back();
    task.due_ns = now_ns_;
    task.order = ++orders_;
    if (current_ == nullptr) current_ = &task;
    task.thread = std::thread([this, &task, body = std::move(body)] {
        {
            std::unique_lock waiting(mutex_);
            task.changed.wait(waiting, [&] { return current_ == &task; });
        }
        body();
        end(task);
    });
}

World* g_world = nullptr;

}  // namespace

void run(const Machine& machine, const std::function<void()>& body) {
    World world(machine);
    g_world = &world;
    world.start(body);
    world.join();
    g_world = nullptr;
}

void start_thread(std::function<void()> body) { g_world->start(std::move(body)); }
std::uint64_t now() { return g_world->now(); }
void compute(std::uint64_t ns) { g_world->compute(ns); }
void sleep_until(std::uint64_t time_ns) {
    if (time_ns > now()) g_world->pause(time_ns, nullptr);
}

}  // namespace aliquot::guard::simulated

namespace aliquot::guard::kernel {

using simulated::g_world;

namespace {

/// Shared memory is mapped at several addresses: whoever waits for any word of it looks again when
/// any is woken.
constexpr char kShared = 0;

}  // namespace

std::uint64_t now_ns() { return g_world == nullptr ? 1 : g_world->now(); }

void sleep_ns(std::uint64_t duration) {
    g_world->pause(g_world->now() + duration + g_world->machine().sleep_slack_ns, nullptr);
}

void wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint64_t limit_ns,
          bool shared) {
    if (word.load() != seen) return;
    const void* const key = shared ? static_cast<const void*>(&kShared) : &word;
    g_world->pause(g_world->now() + limit_ns + g_world->machine().sleep_slack_ns, key);
}

void wake(std::atomic<std::uint32_t>& word, int count, bool shared) {
    if (g_world == nullptr) return;
    if (shared)
        g_world->wake(&kShared, 1 << 30);
    else
        g_world->wake(&word, count);
}

}  // namespace aliquot::guard::kernel
