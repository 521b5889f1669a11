// SPDX-License-Identifier: Apache-2.0
#include "placement/workload.h"

#include <gtest/gtest.h>

namespace aliquot::placement {
namespace {

using Tasks = std::vector<std::pair<Request, double>>;

Request share(std::int32_t milli, std::int32_t cpu = 1'000) {
    return {.cpu_milli = cpu, .gpus = 1, .milli = milli};
}

TEST(TypicalTypes, StopOnceTheyCoverTheirShare) {
    const Tasks tasks{{share(100), 60}, {share(200), 35}, {share(300), 4}, {share(400), 1}};
    const auto types = typical_types(tasks);
    ASSERT_EQ(types.size(), 2U);  // 60 + 35 are 95 of 100
    EXPECT_EQ(types[0].request.milli, 100);
    EXPECT_DOUBLE_EQ(types[0].popularity, 60.0 / 95);
    EXPECT_DOUBLE_EQ(types[0].popularity + types[1].popularity, 1.0);
    EXPECT_EQ(typical_types(tasks, 0.96).size(), 3U);
    EXPECT_EQ(typical_types(tasks, 1).size(), 4U);
    EXPECT_DOUBLE_EQ(typical_types(tasks, 1)[3].popularity, 0.01);
}

TEST(TypicalTypes, AmongEquallyPopularOnesTheLargerCpuComesFirst) {
    const Tasks tasks{{share(100, 1'000), 1}, {share(100, 4'000), 1}, {share(900, 1'000), 1}};
    const auto types = typical_types(tasks, 1);
    ASSERT_EQ(types.size(), 3U);
    EXPECT_EQ(types[0].request.cpu_milli, 4'000);
    EXPECT_EQ(types[1].request.milli, 900);
    EXPECT_EQ(types[2].request.milli, 100);
}

TEST(TypicalTypes, CountTasksWithoutGpu) {
    const Tasks tasks{{{.cpu_milli = 500}, 80}, {share(500), 20}};
    const auto types = typical_types(tasks);
    ASSERT_EQ(types.size(), 2U);
    EXPECT_EQ(types[0].request.gpus, 0);
    EXPECT_DOUBLE_EQ(types[0].popularity, 0.8);
}

TEST(TypicalTypes, AddUpWhatDiffersOnlyInMemoryOrLabels) {
    Request labelled = share(500);
    labelled.memory_mib = 4'096;
    labelled.selector = {{"zone", "a"}};
    labelled.anti_affinity = "w";
    labelled.movable = true;
    Request other = share(500);
    other.models = {"T4"};
    const Tasks tasks{{share(500), 1}, {labelled, 2}, {other, 1}, {share(700), 0}};
    const auto types = typical_types(tasks, 1);
    ASSERT_EQ(types.size(), 2U);  // a weight of 0 counts as absent
    EXPECT_EQ(types[0].request, share(500));
    EXPECT_DOUBLE_EQ(types[0].popularity, 0.75);
    EXPECT_TRUE(typical_types({}).empty());
}

TEST(TypicalTypes, SeldomLargeOnesStandForThoseOfTheirSize) {
    const auto large = [](std::uint8_t gpus, std::int32_t cpu) {
        return Request{.cpu_milli = cpu, .gpus = gpus, .milli = kWholeGpu};
    };
    const Tasks tasks{{share(100), 970},     {large(8, 120'000), 1}, {large(8, 64'000), 2},
                      {large(8, 88'000), 3}, {large(8, 64'200), 5},  {large(4, 64'000), 1}};
    const auto types = typical_types(tasks);
    ASSERT_EQ(types.size(), 5U);
    const auto is = [&](std::size_t index, std::uint8_t gpus, std::int32_t cpu, double of_982) {
        EXPECT_EQ(types[index].request, large(gpus, cpu));
        EXPECT_EQ(types[index].popularity, 0);
        EXPECT_DOUBLE_EQ(types[index].seldom, of_982 / 970);
    };
    is(1, 4, 64'000, 1);
    is(2, 8, 64'200, 7);  // 64,000 too
    is(3, 8, 88'000, 3);  // a quarter more than 64,000 is less
    is(4, 8, 120'000, 1);
}

TEST(ArrivalHistory, HalvesWhatIsAHalfLifeOld) {
    ArrivalHistory history(1'000);
    for (int i = 0; i < 1'000; ++i) history.arrived(share(100));
    for (int i = 0; i < 1'000; ++i) history.arrived(share(200));
    EXPECT_EQ(history.arrivals(), 2'000U);
    const auto types = history.types(1);
    ASSERT_EQ(types.size(), 2U);
    EXPECT_EQ(types[0].request.milli, 200);
    EXPECT_NEAR(types[0].popularity / types[1].popularity, 2, 0.01);
}

TEST(ArrivalHistory, ForgetsTheVeryOld) {
    ArrivalHistory history(10);
    history.arrived(share(100));
    for (int i = 0; i < 2'000; ++i) history.arrived(share(200));
    const auto types = history.types(1);
    ASSERT_EQ(types.size(), 1U);
    EXPECT_DOUBLE_EQ(types[0].popularity, 1);
}

TEST(ArrivalHistory, WithoutHalfLifeForgetsNothing) {
    ArrivalHistory history(0);
    history.arrived(share(100));
    for (int i = 0; i < 99; ++i) history.arrived(share(200));
    const auto types = history.types(1);
    ASSERT_EQ(types.size(), 2U);
    EXPECT_DOUBLE_EQ(types[1].popularity, 0.01);
}

}  // namespace
}  // namespace aliquot::placement
