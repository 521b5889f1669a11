// SPDX-License-Identifier: Apache-2.0
#include "placement/patience.h"

#include <gtest/gtest.h>

#include "sim/trace/published_scorer.h"

namespace aliquot::placement {
namespace {

Request share(std::int32_t milli) {
    Request request;
    request.cpu_milli = 100;
    request.gpus = 1;
    request.milli = milli;
    return request;
}

/// `count` nodes of one GPU each, in a world of whole GPUs, 810s and pairs of 500.
Engine cluster(unsigned count, Policy policy = Policy::kAliquot) {
    Options options;
    options.policy = policy;
    options.published = sim::trace::published_scorer;
    Engine engine(options);
    for (unsigned i = 0; i < count; ++i) {
        NodeSpec spec;
        spec.name = "n" + std::to_string(i);
        spec.rank = i;
        spec.cpu_milli = 64'000;
        spec.memory_mib = 1'000'000;
        spec.devices = 1;
        spec.model = "T4";
        EXPECT_TRUE(engine.add_node(std::move(spec)));
    }
    const std::vector<std::pair<Request, double>> tasks{
        {share(1000), 1}, {share(810), 1}, {share(500), 1}};
    engine.set_workload(typical_types(tasks, 1.0));
    return engine;
}

void fill(Engine& engine, unsigned wholes) {
    for (unsigned i = 0; i < wholes; ++i) ASSERT_TRUE(engine.place(share(1000)));
}

TEST(Patience, AShareThatWouldLeaveARestWaitsWhenTheClusterIsNearlyFull) {
    Engine engine = cluster(20);
    fill(engine, 17);
    EXPECT_FALSE(had_better_wait(engine, share(810)));  // 85 %
    fill(engine, 1);
    EXPECT_TRUE(had_better_wait(engine, share(810)));
    EXPECT_TRUE(engine.place(share(810)));  // the node table is as it was: it still fits
}

TEST(Patience, WhatLeavesNothingBehindDoesNotWait) {
    Engine engine = cluster(20);
    fill(engine, 18);
    EXPECT_FALSE(had_better_wait(engine, share(1000)));
    EXPECT_FALSE(had_better_wait(engine, share(500)));  // another 500 will come
    ASSERT_TRUE(engine.place(share(500)));
    EXPECT_FALSE(had_better_wait(engine, share(500)));  // fills a GPU
}

TEST(Patience, WhatFitsNowhereDoesNotWait) {
    Engine engine = cluster(20);
    fill(engine, 20);
    EXPECT_FALSE(had_better_wait(engine, share(810)));
    Request wrong = share(810);
    wrong.gpus = 3;
    EXPECT_FALSE(had_better_wait(engine, wrong));
    EXPECT_FALSE(had_better_wait(engine, Request{}));
}

TEST(Patience, WhereCpuIsShortNobodyWaits) {
    Engine engine = cluster(20);
    Request hungry = share(1000);
    hungry.cpu_milli = 63'900;
    for (int i = 0; i < 18; ++i) ASSERT_TRUE(engine.place(hungry));
    EXPECT_TRUE(had_better_wait(engine, share(810)));
    const std::vector<std::pair<Request, double>> tasks{{hungry, 1}, {share(810), 1}};
    engine.set_workload(typical_types(tasks, 1.0));
    EXPECT_FALSE(had_better_wait(engine, share(810)));
}

TEST(Patience, APolicyThatKnowsNoWasteIsNeverPatient) {
    Engine engine = cluster(20, Policy::kFgd);
    fill(engine, 18);
    EXPECT_FALSE(had_better_wait(engine, share(810)));
}

}  // namespace
}  // namespace aliquot::placement
