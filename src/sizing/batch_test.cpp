// SPDX-License-Identifier: Apache-2.0
#include "sizing/batch.h"

#include <gtest/gtest.h>

#include "catalog/gpu_instances.h"
#include "sizing/floor.h"

namespace aliquot::sizing {
namespace {

TEST(Batch, OfTheThreeKnownCardsIsReproducedByBothFormulas) {
    for (const auto& [memory, batch] :
         {std::pair(40.0, 32U), std::pair(80.0, 64U), std::pair(32.0, 16U)}) {
        const BatchAdvice advice = advise_batch(memory);
        EXPECT_EQ(advice.batch, batch) << advice.formula;
        EXPECT_EQ(advice.by_sample, batch) << advice.sample_formula;
    }
    EXPECT_EQ(advise_batch(80).formula, "floor_pow2(0.8 x 80) = floor_pow2(64) = 64");
}

TEST(Batch, OfOtherCardsFollowsTheSameFormula) {
    EXPECT_EQ(advise_batch(16).batch, 8U);
    EXPECT_EQ(advise_batch(24).batch, 16U);
    EXPECT_EQ(advise_batch(8).batch, 4U);
    EXPECT_EQ(advise_batch(1).batch, 1U);
    EXPECT_EQ(advise_batch(0.1).batch, 1U);
    EXPECT_EQ(advise_batch(1e300).batch, 1U << 30U);
}

TEST(Batch, IsHalvedUntilItFits) {
    EXPECT_EQ(halvings(64), (std::vector<unsigned>{32, 16, 8, 4, 2, 1}));
    EXPECT_TRUE(halvings(1).empty());
    EXPECT_TRUE(out_of_memory_advice()[0].starts_with("reduce the batch"));
}

TEST(NodeFloor, IsHonestAboutSmallMachines) {
    const NodeFloor& floor = *find_node_floor("training");
    const auto verdict = [&floor](std::string_view type, std::string_view name) {
        for (const FloorCheck& check :
             check_floor(facts_of(*catalog::find_gpu_instance(type)), floor)) {
            if (check.name == name) return check.verdict;
        }
        return Verdict::kUnknown;
    };
    EXPECT_EQ(verdict("g4dn.xlarge", "cpu"), Verdict::kFail);
    EXPECT_EQ(verdict("g4dn.xlarge", "memory"), Verdict::kFail);
    EXPECT_EQ(verdict("g4dn.2xlarge", "cpu"), Verdict::kPass);
    EXPECT_EQ(verdict("g4dn.2xlarge", "memory"), Verdict::kPass);
    EXPECT_EQ(verdict("g4dn.2xlarge", "gpu"), Verdict::kWarn);
    EXPECT_EQ(verdict("p3.2xlarge", "cpu"), Verdict::kPass);
    EXPECT_EQ(verdict("p3.2xlarge", "memory"), Verdict::kPass);
    EXPECT_EQ(verdict("p3.2xlarge", "gpu"), Verdict::kPass);
    EXPECT_EQ(verdict("p3.2xlarge", "driver"), Verdict::kUnknown);
    EXPECT_EQ(find_node_floor("nothing"), nullptr);
}

TEST(NodeFloor, ComparesVersionsAsNumbers) {
    NodeFacts facts;
    facts.driver = "525.147.05";
    facts.kubernetes = "v1.31.2";
    const auto checks = check_floor(facts, *find_node_floor("vision"));
    EXPECT_EQ(checks[0].verdict, Verdict::kPass);
    EXPECT_EQ(checks[1].verdict, Verdict::kPass);
    facts.driver = "525.60.11";
    facts.kubernetes = "v1.9.0";
    const auto old = check_floor(facts, *find_node_floor("vision"));
    EXPECT_EQ(old[0].verdict, Verdict::kFail);
    EXPECT_EQ(old[1].verdict, Verdict::kFail);
}

}  // namespace
}  // namespace aliquot::sizing
