// SPDX-License-Identifier: Apache-2.0
// Expected values are worked out by hand from the definition in the FGD paper (ATC'23, section 4).
#include <gtest/gtest.h>

#include "placement/engine.h"
#include "sim/trace/published_scorer.h"

namespace aliquot::sim::trace {
namespace {

using namespace placement;  // NOLINT(google-build-using-namespace)

NodeSpec node(const std::string& name, std::uint8_t gpus, std::int32_t cpu = 16'000,
              const std::string& model = "A2") {
    return {.name = name,
            .cpu_milli = cpu,
            .memory_mib = 65'536,
            .devices = gpus,
            .model = gpus > 0 ? model : "",
            .device_mib = 16'384};
}

Request share(std::int32_t milli, std::int32_t cpu = 0) {
    return {.cpu_milli = cpu, .gpus = 1, .milli = milli};
}

/// Takes so much of one GPU that `free` milli stay.
void leave_free(Engine& engine, NodeId id, std::uint8_t device, std::int32_t free) {
    ASSERT_TRUE(engine.restore(share(1'000 - free), {.node = id, .devices = {device}}).ok());
}

class FgdTest : public testing::Test {
protected:
    Engine engine_{Options{.policy = Policy::kFgd, .published = published_scorer}};
};

TEST_F(FgdTest, CountsWhatTheTargetWorkloadCannotUse) {
    ASSERT_TRUE(engine_.add_node(node("a", 2, 4'000)).ok());
    leave_free(engine_, 0, 1, 500);
    Request elsewhere = share(100);
    elsewhere.models = {"T4"};
    engine_.set_workload({{share(600, 2'000), 0.5},       // device 1 is too small for it: 500
                          {share(100, 8'000), 0.125},     // lacks CPU: 1500
                          {{.cpu_milli = 1'000}, 0.125},  // asks for no GPU: 1500
                          {elsewhere, 0.125},             // other model: 1500
                          {{.gpus = 2, .milli = 1000}, 0.125}});  // lacks a GPU: 1500
    EXPECT_DOUBLE_EQ(engine_.fragmented_milli(), 0.5 * 500 + 0.5 * 1'500);
}

TEST_F(FgdTest, WholeGpusAreOfNoUseOncePartOfThemIsTaken) {
    ASSERT_TRUE(engine_.add_node(node("a", 4)).ok());
    leave_free(engine_, 0, 0, 900);
    engine_.set_workload({{{.gpus = 2, .milli = 1000}, 1}});
    EXPECT_DOUBLE_EQ(engine_.fragmented_milli(), 900);
}

TEST_F(FgdTest, ScoreIsTheSigmoidOfTheGainCutToAnInteger) {
    ASSERT_TRUE(engine_.add_node(node("a", 1)).ok());
    engine_.set_workload({{share(500), 1}});
    // After 510 milli, the 490 left are lost: 100 / (1 + e^0.49) = 37.99.
    EXPECT_EQ(engine_.what_if(share(510))->cost.total, -37);
    EXPECT_EQ(engine_.what_if(share(510))->cost.fragmentation, 490);
    // 500 left: nothing is lost, exactly the middle.
    EXPECT_EQ(engine_.what_if(share(500))->cost.total, -50);
    leave_free(engine_, 0, 0, 490);
    // 490 were lost already, 390 of them stay so: 100 / (1 + e^-0.1) = 52.5.
    EXPECT_EQ(engine_.what_if(share(100))->cost.total, -52);
}

TEST_F(FgdTest, DifferencesBelowTheCutGoToTheFirstInRank) {
    ASSERT_TRUE(engine_.add_node(node("first", 1)).ok());
    ASSERT_TRUE(engine_.add_node(node("second", 1)).ok());
    engine_.set_workload({{share(500), 0.0625}, {share(1), 0.9375}});
    leave_free(engine_, 0, 0, 530);
    leave_free(engine_, 1, 0, 510);
    // Of the first, 490 are lost by a sixteenth: 30.6; of the second, 470: 29.4. Both score 49.
    const auto best = engine_.alternatives(share(40), 2);
    ASSERT_EQ(best.size(), 2U);
    EXPECT_EQ(best[0].node, 0U);
    EXPECT_EQ(best[0].cost.fragmentation, 30);
    EXPECT_EQ(best[1].cost.fragmentation, 29);
    EXPECT_EQ(best[0].cost.total, best[1].cost.total);
}

TEST_F(FgdTest, RankDecidesNotTheOrderOfAdding) {
    NodeSpec late = node("late", 1);
    late.rank = 5;
    NodeSpec early = node("early", 1);
    early.rank = 2;
    ASSERT_TRUE(engine_.add_node(late).ok());
    ASSERT_TRUE(engine_.add_node(early).ok());
    EXPECT_EQ(engine_.place(share(100))->node, 1U);
}

TEST_F(FgdTest, SharesGoToTheDeviceThatLosesLeastAndWholeGpusToTheLowest) {
    ASSERT_TRUE(engine_.add_node(node("a", 3)).ok());
    engine_.set_workload({{share(500), 0.5}, {{.gpus = 1, .milli = 1000}, 0.5}});
    leave_free(engine_, 0, 1, 500);
    EXPECT_EQ(engine_.place(share(500))->devices, (std::vector<std::uint8_t>{1}));
    EXPECT_EQ(engine_.place({.gpus = 2, .milli = 1000})->devices,
              (std::vector<std::uint8_t>{0, 2}));
}

}  // namespace
}  // namespace aliquot::sim::trace
