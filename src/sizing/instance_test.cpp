// SPDX-License-Identifier: Apache-2.0
#include "sizing/instance.h"

#include <gtest/gtest.h>

namespace aliquot::sizing {
namespace {

PodNeed ci_runner() {
    PodNeed need;
    need.cpu = 4;
    need.memory_mib = 16 * 1024;
    need.gpu = "t4";
    return need;
}

TEST(Instance, IsChosenByWhatItLeavesForPodsNotByItsName) {
    const auto choice = choose_instance(ci_runner(), {}, "", "");
    ASSERT_TRUE(choice);
    ASSERT_FALSE(choice->fitting.empty());
    EXPECT_EQ(choice->fitting.front().instance->type, "g4dn.2xlarge");
    ASSERT_FALSE(choice->cheaper.empty());
    EXPECT_EQ(choice->cheaper.front().instance->type, "g4dn.xlarge");
    EXPECT_EQ(choice->cheaper.front().reasons.front().resource, "cpu");
}

TEST(Instance, StaysTooSmallEvenWithoutDaemonSets) {
    const auto choice = choose_instance(ci_runner(), {0, 0}, "aws", "g4dn.xlarge");
    ASSERT_TRUE(choice);
    EXPECT_TRUE(choice->fitting.empty());
    ASSERT_EQ(choice->never.size(), 2U);
    EXPECT_EQ(choice->never[0].available, "3.92 allocatable on g4dn.xlarge");
}

TEST(Instance, ThatNoMachineCanBeIsToldWithResourceNeedAndBest) {
    PodNeed need;
    need.cpu = 48;
    need.memory_mib = 1024;
    need.gpus = 4;
    need.gpu = "t4";
    const auto choice = choose_instance(need, {0, 0}, "aws", "g4dn.12xlarge");
    ASSERT_TRUE(choice);
    EXPECT_TRUE(choice->fitting.empty());
    ASSERT_EQ(choice->never.size(), 1U);
    EXPECT_EQ(choice->never[0].resource, "cpu");
    EXPECT_NE(choice->never[0].available.find("47."), std::string::npos);
}

TEST(Instance, WithAFractionOfAGpuIsNotCountedByKubernetes) {
    PodNeed need;
    need.cpu = 1;
    need.memory_mib = 1024;
    const auto choice = choose_instance(need, {}, "aws", "g6f.large");
    ASSERT_TRUE(choice);
    ASSERT_EQ(choice->never.size(), 1U);
    EXPECT_EQ(choice->never[0].resource, "gpu");
}

TEST(Instance, OfAnUnknownGpuOrTypeNamesTheNearest) {
    PodNeed need;
    need.gpu = "gtx1071";
    const auto choice = choose_instance(need, {}, "", "");
    ASSERT_FALSE(choice);
    EXPECT_NE(choice.error().message.find("gtx-1070"), std::string::npos);
    const auto type = choose_instance({}, {}, "", "g4dn.2xlrge");
    ASSERT_FALSE(type);
    EXPECT_NE(type.error().message.find("g4dn.2xlarge"), std::string::npos);
}

TEST(Instance, WithoutAKnownAllocatableGetsAnEstimateNearKnownOnes) {
    for (const catalog::GpuInstance& one : catalog::gpu_instances()) {
        const Allocatable has = allocatable_of(one);
        EXPECT_GT(has.cpu, 0) << one.type;
        EXPECT_LT(has.cpu, one.vcpu) << one.type;
        EXPECT_GT(has.memory_mib, 0) << one.type;
        if (one.allocatable_cpu_milli == 0) continue;
        catalog::GpuInstance unknown = one;
        unknown.allocatable_cpu_milli = 0;
        EXPECT_NEAR(allocatable_of(unknown).cpu, has.cpu, 0.1) << one.type;
        EXPECT_NEAR(allocatable_of(unknown).memory_mib / has.memory_mib, 1, 0.2) << one.type;
    }
}

}  // namespace
}  // namespace aliquot::sizing
