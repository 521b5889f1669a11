// SPDX-License-Identifier: Apache-2.0
#include "kube_client/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "kube_client/rate_limiter.h"

namespace aliquot::kube_client {
namespace {

using namespace std::chrono_literals;

const ObjectKey kA{"n", "a"};
const ObjectKey kB{"n", "b"};

TEST(WorkQueue, HasAKeyOnce) {
    WorkQueue queue;
    EXPECT_TRUE(queue.add(kA));
    EXPECT_TRUE(queue.add(kA));
    EXPECT_TRUE(queue.add(kB));
    EXPECT_EQ(queue.size(), 2U);
    EXPECT_EQ(queue.take({}, 1s), kA);
    EXPECT_EQ(queue.take({}, 1s), kB);
    EXPECT_FALSE(queue.take({}, 0ms));
    EXPECT_EQ(queue.size(), 2U);
    queue.done(kA);
    queue.done(kB);
    EXPECT_EQ(queue.size(), 0U);
}

TEST(WorkQueue, GivesAKeyAgainThatChangedDuringItsWorkAndNotBefore) {
    WorkQueue queue;
    queue.add(kA);
    ASSERT_EQ(queue.take({}, 1s), kA);
    queue.add(kA);
    queue.add(kA);
    EXPECT_FALSE(queue.take({}, 0ms));
    queue.done(kA);
    EXPECT_EQ(queue.take({}, 1s), kA);
    queue.done(kA);
    EXPECT_FALSE(queue.take({}, 0ms));
}

TEST(WorkQueue, WaitsLongerWithEachFailure) {
    WorkQueue queue({.first_wait = 10ms, .longest_wait = 100ms});
    std::chrono::milliseconds last{};
    for (unsigned i = 1; i <= 8; ++i) {
        queue.add(kA);
        ASSERT_EQ(queue.take({}, 1s), kA);
        last = queue.retry(kA);
        EXPECT_EQ(queue.failures(kA), i);
        const auto middle = std::min<std::chrono::milliseconds>(10ms * (1 << (i - 1)), 100ms);
        EXPECT_GE(last, middle * 8 / 10);
        EXPECT_LE(last, middle * 12 / 10);
    }
    ASSERT_EQ(queue.take({}, 10s), kA);  // by itself, when its wait is over
    queue.done(kA);
    EXPECT_EQ(queue.failures(kA), 0U);
}

TEST(WorkQueue, KeepsTheEarlierOfTwoTimes) {
    WorkQueue queue;
    queue.add_after(kA, 1h);
    queue.add_after(kA, 1ms);
    queue.add_after(kA, 2h);
    EXPECT_EQ(queue.take({}, 10s), kA);
    queue.done(kA);
    EXPECT_EQ(queue.size(), 0U);
}

TEST(WorkQueue, RefusesMoreThanItsLimitAndLosesNoFailedKey) {
    WorkQueue queue({.first_wait = 1ms, .longest_wait = 1ms, .most_keys = 2});
    EXPECT_TRUE(queue.add(kA));
    ASSERT_EQ(queue.take({}, 1s), kA);
    EXPECT_TRUE(queue.add(kB));
    EXPECT_TRUE(queue.add({"n", "c"}));
    EXPECT_FALSE(queue.add({"n", "d"}));
    EXPECT_TRUE(queue.add(kB));
    queue.retry(kA);
    std::map<std::string, int> seen;
    for (int i = 0; i < 3; ++i) {
        const auto key = queue.take({}, 10s);
        ASSERT_TRUE(key);
        ++seen[key->name];
        queue.done(*key);
    }
    EXPECT_EQ(seen.size(), 3U);
}

TEST(WorkQueue, WakesForAStop) {
    WorkQueue queue;
    std::stop_source stop;
    const std::jthread stopper([&] { stop.request_stop(); });
    EXPECT_FALSE(queue.take(stop.get_token()));
}

TEST(WorkQueue, NeverGivesOneKeyToTwoWorkers) {
    WorkQueue queue;
    constexpr int kKeys = 5;
    std::array<std::atomic<int>, kKeys> busy{};
    std::atomic<int> overlaps{0};
    std::atomic<int> worked{0};
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i) {
        workers.emplace_back([&](const std::stop_token& stop) {
            while (const auto key = queue.take(stop)) {
                auto& mine = busy[static_cast<std::size_t>(key->name[0] - '0')];
                if (++mine != 1) ++overlaps;
                ++worked;
                --mine;
                queue.done(*key);
            }
        });
    }
    for (int i = 0; i < 5000; ++i) queue.add({"", std::to_string(i % kKeys)});
    while (queue.size() != 0) std::this_thread::yield();
    workers.clear();
    EXPECT_EQ(overlaps, 0);
    EXPECT_GE(worked, kKeys);
}

TEST(RateLimiter, AllowsAWholeBurstOnAMachineThatHasJustStarted) {
    RateLimiter limiter(25, 1.0 / 300);
    const RateLimiter::Time now(10s);
    for (int i = 0; i < 25; ++i) EXPECT_EQ(limiter.take(now, 0ms), 0ms) << i;
    EXPECT_EQ(limiter.take(now, 1h), 300s);
}

TEST(RateLimiter, LetsABurstThroughAndThenItsRate) {
    RateLimiter limiter(3, 10);
    const RateLimiter::Time now(1h);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.take(now, 1h), 0ms);
    EXPECT_EQ(limiter.take(now, 1h), 100ms);
    EXPECT_EQ(limiter.take(now, 1h), 200ms);
    EXPECT_EQ(limiter.take(now, 50ms), 300ms);  // too long: nothing is taken
    EXPECT_EQ(limiter.take(now, 1h), 300ms);
    EXPECT_EQ(limiter.take(now + 10s, 1h), 0ms);
    EXPECT_EQ(limiter.take(now + 10s, 1h), 0ms);
    EXPECT_EQ(limiter.take(now + 10s, 1h), 0ms);
    EXPECT_EQ(limiter.take(now + 10s, 1h), 100ms);
}

}  // namespace
}  // namespace aliquot::kube_client
