// SPDX-License-Identifier: Apache-2.0
//
// What kube-scheduler does anyway it does for pods that we place, too: the same rules with our gate and without. Needs
// Kubernetes' own programs (real_peers.h).
#include "tests/e2e/placement_rules_world.h"

namespace aliquot {
namespace {

class PlacementRules : public PlacementRulesWorld,
                       public testing::WithParamInterface<SchedulingRule> {};

TEST_P(PlacementRules, HoldsWithOurGateAndWithout) {
    for (const bool gated : {false, true}) {
        SCOPED_TRACE(gated ? "with our gate" : "without us");
        gate(gated);
        GetParam().ask(*this);
        ASSERT_TRUE(comes_to(GetParam().right));
        if (GetParam().then) {
            GetParam().then(*this);
            ASSERT_TRUE(comes_to(GetParam().right_then));
        }
        clean();
    }
}

constexpr auto kName = [](const testing::TestParamInfo<SchedulingRule>& one) {
    return one.param.name;
};
INSTANTIATE_TEST_SUITE_P(Nodes, PlacementRules, testing::ValuesIn(rules_of_nodes()), kName);
INSTANTIATE_TEST_SUITE_P(OtherPods, PlacementRules, testing::ValuesIn(rules_of_other_pods()),
                         kName);
INSTANTIATE_TEST_SUITE_P(More, PlacementRules, testing::ValuesIn(rules_of_volumes_and_more()),
                         kName);

}  // namespace
}  // namespace aliquot
