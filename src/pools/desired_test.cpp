// SPDX-License-Identifier: Apache-2.0
#include "pools/desired.h"

#include <gtest/gtest.h>

#include <random>

namespace aliquot::pools {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const Instant kNow{std::chrono::seconds(1'800'000'000)};
const k8s::Amounts kOne{{"nvidia.com/gpu", 1}};

Pool a_pool() {
    Pool pool;
    pool.name = "gpu-pool";
    pool.max = 5;
    pool.node.amounts = {{"cpu", 4}, {"nvidia.com/gpu", 1}};
    return pool;
}
PoolNode idle(const char* name, seconds empty = minutes(10)) {
    return {.name = name,
            .free = {{"cpu", 4}, {"nvidia.com/gpu", 1}},
            .is_ready = true,
            .seen = minutes(60),
            .empty = empty};
}
PoolNode busy(const char* name) {
    return {.name = name, .free = {{"cpu", 1}}, .is_ready = true, .seen = minutes(60), .pods = 1};
}
std::vector<Claim> waiting(unsigned count) { return std::vector<Claim>(count, {"ci/job", kOne}); }
ScheduleLook floor(unsigned nodes) {
    return {.floor = nodes, .why = "schedule 'office': at least " + std::to_string(nodes)};
}

// R77.
TEST(Desired, StaysBetweenMinimumAndMaximum) {
    Pool pool = a_pool();
    pool.min = 1;
    EXPECT_EQ(decide(pool, {}, {}, {}, kNow).nodes, 1U);
    EXPECT_EQ(decide(pool, {}, waiting(40), {}, kNow).nodes, 5U);
    std::mt19937 engine(3);
    const auto random = [&] { return static_cast<unsigned>(engine()); };
    for (int i = 0; i < 5'000; ++i) {
        pool.min = random() % 4;
        pool.max = pool.min + random() % 6;
        pool.warm = random() % 3;
        pool.hold =
            random() % 4 == 0 ? std::optional(Hold{.replicas = random() % 20}) : std::nullopt;
        std::vector<PoolNode> nodes;
        for (unsigned n = random() % 8; n > 0; --n) {
            nodes.push_back(random() % 2 == 0 ? busy("b") : idle("i", seconds(random() % 900)));
            if (random() % 4 == 0) nodes.back().not_passed = "driver";
            if (random() % 8 == 0) nodes.back().leaves = true;
        }
        const auto made = decide(pool, floor(random() % 9), waiting(random() % 9), nodes, kNow);
        EXPECT_GE(made.nodes, pool.min);
        EXPECT_LE(made.nodes, pool.max);
        EXPECT_TRUE(made.ask == 0 || made.present + made.failed + made.ask <= pool.max);
        EXPECT_TRUE(made.ask == 0 || made.remove.empty());
        for (const std::string& gone : made.remove) EXPECT_NE(gone, "b");
        EXPECT_FALSE(made.reasons.empty());
    }
}

// R78.
TEST(Desired, GrowsFromZeroForQueuedWorkAndShrinksToZeroAfterTheDelay) {
    const Pool pool = a_pool();
    const auto grown = decide(pool, {}, waiting(3), {}, kNow);
    EXPECT_EQ(grown.nodes, 3U);
    EXPECT_EQ(grown.ask, 3U);
    auto empty = decide(pool, {}, {}, {idle("a", minutes(4)), idle("b", minutes(6))}, kNow);
    EXPECT_EQ(empty.nodes, 1U);
    EXPECT_EQ(empty.remove, std::vector<std::string>{"b"});
    empty = decide(pool, {}, {}, {idle("a", minutes(5))}, kNow);
    EXPECT_EQ(empty.nodes, 0U);
    EXPECT_EQ(empty.remove, std::vector<std::string>{"a"});
}

// R82.
TEST(Desired, IsTheLargestOfScheduleQueueHandAndWarmNodes) {
    Pool pool = a_pool();
    EXPECT_EQ(decide(pool, floor(2), waiting(3), {}, kNow).nodes, 3U);
    const auto by_schedule = decide(pool, floor(4), waiting(3), {}, kNow);
    EXPECT_EQ(by_schedule.nodes, 4U);
    EXPECT_EQ(by_schedule.reasons[0], "schedule 'office': at least 4");
    pool.warm = 2;
    EXPECT_EQ(decide(pool, floor(4), waiting(3), {}, kNow).nodes, 5U);
    EXPECT_EQ(decide(pool, {}, {}, {busy("a")}, kNow).nodes, 3U);
    pool.warm = 0;
    pool.replicas = 5;  // kubectl scale
    EXPECT_EQ(decide(pool, floor(4), waiting(3), {}, kNow).nodes, 5U);
}

TEST(Desired, IsWhatAHoldSaysUntilItsEnd) {
    Pool pool = a_pool();
    pool.hold = Hold{.replicas = 1, .until = kNow + minutes(5)};
    const auto held =
        decide(pool, floor(4), waiting(3), {idle("a", seconds(1)), idle("b", minutes(1))}, kNow);
    EXPECT_EQ(held.nodes, 1U);
    EXPECT_EQ(held.remove, std::vector<std::string>{"b"});
    EXPECT_EQ(decide(pool, floor(4), {}, {}, kNow + minutes(5)).nodes, 4U);
}

// R86.
TEST(Desired, AsksForNoSecondNodeWhileTheFirstWarmsUp) {
    const Pool pool = a_pool();
    PoolNode starting{
        .name = "a", .is_ready = true, .not_passed = "device plugin", .seen = minutes(2)};
    auto made = decide(pool, {}, waiting(1), {starting}, kNow);
    EXPECT_EQ(made.nodes, 1U);
    EXPECT_EQ(made.starting, 1U);
    EXPECT_EQ(made.ask, 0U);
    EXPECT_TRUE(made.remove.empty());
    starting.seen = minutes(20);
    made = decide(pool, {}, waiting(1), {starting}, kNow);
    EXPECT_EQ(made.failed, 1U);
    EXPECT_EQ(made.ask, 1U);
    EXPECT_NE(made.reasons.back().find("a did not start within 900 s: device plugin"),
              std::string::npos);
}

TEST(Desired, CountsEmptyNodesForQueuedWorkOnce) {
    const auto made = decide(a_pool(), {}, waiting(1), {idle("a", minutes(1))}, kNow);
    EXPECT_EQ(made.nodes, 1U);
    EXPECT_EQ(made.ask, 0U);
}

TEST(Desired, RemovesNoNodeWithPodsWhenTheMaximumIsLowered) {
    Pool pool = a_pool();
    pool.max = 1;
    const auto made = decide(pool, {}, {}, {busy("a"), busy("b"), idle("c")}, kNow);
    EXPECT_EQ(made.nodes, 1U);
    EXPECT_EQ(made.remove, std::vector<std::string>{"c"});
}

// R98.
TEST(Desired, StaysBelowTheLimitInGpus) {
    Pool pool = a_pool();
    pool.max = 50;
    pool.most_gpus = 40;
    pool.node.amounts["nvidia.com/gpu"] = 4;
    const auto made = decide(pool, floor(45), {}, {}, kNow);
    EXPECT_EQ(made.nodes, 10U);
    EXPECT_NE(made.reasons.back().find("gpuLimit 40"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::pools
