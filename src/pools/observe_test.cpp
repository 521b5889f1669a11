// SPDX-License-Identifier: Apache-2.0
#include "pools/observe.h"

#include <gtest/gtest.h>

#include "document/path.h"
#include "document/yaml.h"
#include "pools/desired.h"

namespace aliquot::pools {
namespace {

using document::Value;
using std::chrono::minutes;

const Instant kNow{std::chrono::seconds(1'795'500'000)};  // 2026-11-24T06:00:00Z

Value yaml(const std::string& text) { return document::parse_yaml(text).documents.at(0); }
Value node(const std::string& name, const std::string& allocatable, const std::string& more = "") {
    return yaml("metadata: {name: " + name +
                ", creationTimestamp: '2026-11-24T05:00:00Z', labels: {aliquot.dev/pool: ci}" +
                more +
                "}\nspec: {}\nstatus: {conditions: [{type: Ready, status: 'True'}], allocatable: "
                "{cpu: 8, " +
                allocatable + "}}\n");
}
Value pod(const std::string& name, const std::string& resources, const std::string& on = "") {
    return yaml("metadata: {name: " + name +
                ", namespace: ci, creationTimestamp: '2026-11-24T05:58:00Z'}\n"
                "spec: {" +
                (on.empty() ? "" : "nodeName: " + on + ", ") +
                "containers: [{name: a, resources: {requests: {" + resources + "}, limits: {" +
                resources +
                "}}}]}\n"
                "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', "
                "reason: Unschedulable}]}\n");
}
Pool pool() {
    Pool made;
    made.name = "ci";
    made.max = 5;
    made.node.amounts = {{"cpu", 8}, {"nvidia.com/gpu.shared", 4}};
    return made;
}

TEST(ObservedPool, CountsWhatPodsHoldAndWhatWaits) {
    const auto seen = observe(pool(), {node("a", "nvidia.com/gpu.shared: 4")},
                              {pod("one", "nvidia.com/gpu.shared: 1", "a"),
                               pod("two", "nvidia.com/gpu.shared: 1"), pod("cpu", "cpu: 1")},
                              kNow);
    ASSERT_EQ(seen.nodes.size(), 1U);
    EXPECT_EQ(seen.nodes[0].pods, 1U);
    EXPECT_DOUBLE_EQ(seen.nodes[0].free.at("nvidia.com/gpu.shared"), 3);
    EXPECT_EQ(seen.nodes[0].seen, minutes(60));
    ASSERT_EQ(seen.waiting.size(), 1U);
    EXPECT_EQ(seen.waiting[0].pod, "ci/two");
    EXPECT_EQ(seen.waiting[0].waited, minutes(2));
}

Value gated(const std::string& name, const std::string& name_space) {
    return yaml("metadata: {name: " + name + ", namespace: " + name_space +
                "}\nspec: {schedulingGates: [{name: aliquot.dev/placement}]}\n");
}

TEST(WithoutHeld, LeavesOutWhatABudgetHolds) {
    std::vector<std::string> asked;
    const auto held = [&asked](const std::string& name_space) -> std::string {
        asked.push_back(name_space);
        return name_space == "lab" ? "its budget is spent" : "";
    };
    Value foreign = yaml(
        "metadata: {name: other, namespace: lab}\nspec: {schedulingGates: [{name: "
        "aliquot.dev/placement}, {name: example.com/gate}]}\n");
    Value placed = yaml(
        "metadata: {name: placed, namespace: lab}\nspec: {nodeName: n1, schedulingGates: [{name: "
        "aliquot.dev/placement}]}\n");
    const auto left = without_held(
        {gated("a", "lab"), gated("b", "lab"), gated("c", "ci"), foreign, placed}, held);
    std::vector<std::string> names;
    for (const Value& pod : left) names.push_back(document::text_at(pod, {"metadata", "name"}));
    EXPECT_EQ(names, (std::vector<std::string>{"c", "other", "placed"}));
    EXPECT_EQ(asked, (std::vector<std::string>{"lab", "ci"})) << "one question a namespace";
}

// R86.
TEST(ObservedPool, TakesANodeWithoutItsResourceAsOneThatWarmsUp) {
    const auto seen = observe(pool(), {node("a", "memory: 1Gi")}, {}, kNow);
    EXPECT_EQ(seen.nodes.at(0).not_passed,
              "device-plugin: the node offers no nvidia.com/gpu.shared yet");
    EXPECT_FALSE(seen.nodes[0].is_capacity());
    EXPECT_TRUE(observe(pool(), {yaml("metadata: {name: other}")}, {}, kNow).nodes.empty());
}

TEST(ObservedPool, KnowsSinceWhenANodeIsEmptyAndWhichOnesGo) {
    const auto seen = observe(
        pool(),
        {node("a", "nvidia.com/gpu.shared: 4",
              ", annotations: {aliquot.dev/empty-since: '2026-11-24T05:59:00Z'}"),
         node("b", "nvidia.com/gpu.shared: 4", ", deletionTimestamp: '2026-11-24T05:59:00Z'")},
        {}, kNow);
    EXPECT_EQ(seen.nodes.at(0).empty, minutes(1));
    EXPECT_TRUE(seen.nodes.at(1).leaves);
}

}  // namespace
}  // namespace aliquot::pools
