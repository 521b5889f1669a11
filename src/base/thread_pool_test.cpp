// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <numeric>
#include <set>

namespace aliquot {
namespace {

TEST(ThreadPool, StartsAFurtherThreadWhenAllAreBusy) {
    std::latch all(3);  // none passes before three are inside
    ThreadPool pool(3, "pool-test");
    for (int i = 0; i < 3; ++i) pool.submit([&] { all.arrive_and_wait(); });
    all.wait();
}

TEST(ThreadPool, NeverRunsTwoSlowTasksAtOnce) {
    std::atomic<int> inside{0};
    std::atomic<bool> overlap{false};
    std::latch done(20);
    ThreadPool pool(4, "pool-test");
    for (int i = 0; i < 20; ++i) {
        pool.submit([] {});
        pool.submit(
            [&] {
                if (++inside > 1) overlap = true;
                std::this_thread::yield();
                --inside;
                done.count_down();
            },
            ThreadPool::Lane::kSlow);
    }
    done.wait();
    EXPECT_FALSE(overlap);
}

TEST(ThreadPool, ATaskMaySubmitMoreUntilThePoolEnds) {
    std::atomic<int> runs{0};
    std::latch some(10);
    std::function<void()> again;  // outlives the pool, whose threads copy it to the end
    ThreadPool pool(2, "pool-test");
    again = [&] {
        if (++runs <= 10) some.count_down();
        pool.submit(again);
    };
    pool.submit(again);
    some.wait();
    EXPECT_GE(runs, 10);
}

TEST(ForEachInParallel, CallsEachNumberOnce) {
    std::vector<int> calls(1000);
    for_each_in_parallel(calls.size(), 4, [&](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(std::accumulate(calls.begin(), calls.end(), 0), 1000);
    EXPECT_EQ(std::set<int>(calls.begin(), calls.end()), std::set<int>{1});
}

TEST(ForEachInParallel, StaysOnTheCallersThreadWhenTheWorkIsSmall) {
    std::set<std::thread::id> threads;  // one thread only: needs no lock
    for_each_in_parallel(
        8, 0, [&](std::size_t) { threads.insert(std::this_thread::get_id()); }, 8);
    for_each_in_parallel(0, 0, [&](std::size_t) { threads.clear(); });
    EXPECT_EQ(threads, std::set<std::thread::id>{std::this_thread::get_id()});
}

}  // namespace
}  // namespace aliquot
