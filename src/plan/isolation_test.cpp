// SPDX-License-Identifier: Apache-2.0
// Isolation that is asked for is given, or the plan says that it cannot be.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "plan/plan.h"
#include "plan/test_request.h"

namespace aliquot::plan {
namespace {

bool has_reason(const Plan& plan, std::string_view rule) {
    return std::ranges::any_of(plan.reasons,
                               [rule](const Reason& one) { return one.rule == rule; });
}

TEST(Isolation, OfSecurityOrFaultsWithoutMigIsAGpuOfItsOwn) {
    for (const std::string_view isolation : {"security", "fault"}) {
        const std::string two =
            "- {name: a, memory: 4Gi, duty: 20, isolation: " + std::string(isolation) +
            "}\n- {name: b, memory: 4Gi, duty: 20, isolation: " + std::string(isolation) + "}\n";
        const Plan one_gpu = make_plan(request({"l4"}, two));
        EXPECT_EQ(one_gpu.unplaced.size(), 1U) << isolation;
        EXPECT_EQ(one_gpu.gpus_missing, 1U) << isolation;
        const Plan two_gpus = make_plan(request({"2x l4"}, two));
        EXPECT_TRUE(two_gpus.unplaced.empty()) << isolation;
        ASSERT_EQ(two_gpus.shares.size(), 2U);
        EXPECT_NE(two_gpus.shares[0].gpu, two_gpus.shares[1].gpu) << isolation;
        Request no_reset = request({"a100"}, two);
        no_reset.no_reboot = true;
        EXPECT_EQ(make_plan(no_reset).unplaced.size(), 1U) << isolation;
        EXPECT_EQ(make_plan(request({"a100"}, two)).mode, Mode::kMig) << isolation;
    }
}

TEST(Isolation, OfOneKeepsTheOthersAwayFromItOnly) {
    const Plan plan = make_plan(request({"2x l4"},
                                        "- {name: a, memory: 4Gi, duty: 20, isolation: fault}\n"
                                        "- {name: b, memory: 4Gi, duty: 20}\n"
                                        "- {name: c, memory: 4Gi, duty: 20}\n"));
    EXPECT_TRUE(plan.unplaced.empty());
    std::map<std::string, int> gpu;
    for (const Share& share : plan.shares) gpu[share.workload] = share.gpu;
    EXPECT_EQ(gpu["b"], gpu["c"]);
    EXPECT_NE(gpu["a"], gpu["b"]);
}

TEST(Isolation, OfMemoryNeedsSomethingThatEnforcesIt) {
    Request asked = request({"l4"},
                            "- {name: a, memory: 4Gi, duty: 20, bursty: true, isolation: memory}\n"
                            "- {name: b, memory: 4Gi, duty: 20, bursty: true}\n");
    EXPECT_TRUE(make_plan(asked).unplaced.empty());
    asked.guard = false;
    EXPECT_EQ(make_plan(asked).unplaced.size(), 1U);
}

TEST(Isolation, OfMemoryIsNotGivenUpForSharesOfUnequalNeeds) {
    const std::string others = "- {name: b, memory: 2Gi, bursty: true, replicas: 3}\n";
    const std::string_view asks = "- {name: a, memory: 6Gi, bursty: true, isolation: memory}\n";
    const std::string_view plain = "- {name: a, memory: 6Gi, bursty: true}\n";
    const Plan turns = make_plan(request({"t4"}, std::string(plain) + others));
    EXPECT_TRUE(turns.unplaced.empty());
    EXPECT_TRUE(has_reason(turns, "PLN044"));
    const Plan limited = make_plan(request({"t4"}, std::string(asks) + others));
    EXPECT_FALSE(limited.unplaced.empty());
    for (const GpuUse& use : limited.gpus) EXPECT_NE(use.mode, Mode::kTimeSlicing);
    const Plan two = make_plan(request({"2x t4"}, std::string(asks) + others));
    EXPECT_TRUE(two.unplaced.empty());
    for (const GpuUse& use : two.gpus) EXPECT_NE(use.mode, Mode::kTimeSlicing);
}

TEST(Isolation, OfTenantsThatWaitForAGpuMakesAllOnItTakeTurns) {
    const Plan plan = make_plan(request({"v100-32"},
                                        "- {name: a, memory: 1Gi, kind: ci}\n"
                                        "- {name: b, memory: 8Gi, kind: ci}\n"
                                        "- {name: c, memory: 12Gi, kind: batch, tenant: x}\n"));
    ASSERT_EQ(plan.gpus.size(), 1U);
    EXPECT_EQ(plan.gpus[0].mode, Mode::kSerial);
    ASSERT_EQ(plan.shares.size(), 3U);
    for (const Share& share : plan.shares) {
        EXPECT_EQ(share.mode, Mode::kSerial) << share.workload;
        EXPECT_EQ(share.memory_mib, 32768) << share.workload;
        EXPECT_EQ(share.compute_percent, 100U) << share.workload;
    }
    EXPECT_EQ(plan.gpus[0].needed_mib, 12288);
}

TEST(Isolation, IsNotGivenUpUnderWsl) {
    for (const std::string_view asks :
         {"isolation: security", "isolation: fault", "isolation: memory", "tenant: other"}) {
        Request asked =
            request({"2x a2"}, "- {name: a, memory: 2Gi, bursty: true, " + std::string(asks) +
                                   "}\n- {name: b, memory: 2Gi, bursty: true}\n");
        asked.pools[0].wsl = true;
        const Plan plan = make_plan(asked);
        EXPECT_EQ(plan.unplaced.size(), 1U) << asks;
        EXPECT_EQ(plan.shares.size(), 1U) << asks;
    }
}

}  // namespace
}  // namespace aliquot::plan
