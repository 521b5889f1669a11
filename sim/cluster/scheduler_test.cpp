// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/scheduler.h"

#include <gtest/gtest.h>

namespace aliquot::sim::cluster {
namespace {

using Operator = k8s::Requirement::Operator;

PodTemplate pod_with(const std::map<std::string, unsigned>& devices) {
    PodTemplate pod;
    pod.containers.push_back({.name = "c", .image = "i", .devices = devices});
    return pod;
}

NodeView shared_a2() {
    NodeView node;
    node.labels = {{"nvidia.com/gpu.product", "NVIDIA-A2-SHARED"},
                   {"nvidia.com/gpu.count", "1"},
                   {"zone", "a"}};
    node.resources["nvidia.com/gpu"] = {.allocatable = 2, .shared = true};
    return node;
}

TEST(Schedule, TakesAPodThatFits) {
    EXPECT_EQ(why_pending(pod_with({{"nvidia.com/gpu", 1}}), shared_a2()), "");
    EXPECT_EQ(why_pending(pod_with({}), NodeView{}), "");
}

TEST(Schedule, SaysWhoHasTheShares) {
    NodeView node = shared_a2();
    node.resources["nvidia.com/gpu"].used = 2;
    node.resources["nvidia.com/gpu"].holders = {"kokoro", "whisper"};
    EXPECT_EQ(why_pending(pod_with({{"nvidia.com/gpu", 1}}), node),
              "0/1 nodes are available: 1 Insufficient nvidia.com/gpu: 2 of 2 shares in use by "
              "kokoro, whisper");
}

TEST(Schedule, SaysThatTheNodeIsTooSmall) {
    NodeView node = shared_a2();
    node.resources["nvidia.com/gpu"] = {.allocatable = 1, .unhealthy = 1};
    EXPECT_EQ(why_pending(pod_with({{"nvidia.com/gpu", 4}}), node),
              "0/1 nodes are available: 1 Insufficient nvidia.com/gpu: the pod wants 4 GPUs, the "
              "node has 2, 1 unhealthy");
}

TEST(Schedule, SaysWhatTheNodeOffersInstead) {
    NodeView node;
    node.resources["nvidia.com/gpu.shared"] = {.allocatable = 2, .shared = true};
    EXPECT_EQ(why_pending(pod_with({{"nvidia.com/gpu", 1}}), node),
              "0/1 nodes are available: 1 Insufficient nvidia.com/gpu: nvidia.com/gpu is not "
              "offered by this node (it offers nvidia.com/gpu.shared)");
}

TEST(Schedule, SaysWhichLabelIsWrongAndHowToGiveIt) {
    PodTemplate pod;
    pod.node_selector = {{.key = "accelerator", .values = {"nvidia-tesla-v100"}}};
    EXPECT_EQ(why_pending(pod, shared_a2()),
              "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector: the "
              "node has no label accelerator, the pod wants accelerator=nvidia-tesla-v100; give it "
              "with --node-label accelerator=nvidia-tesla-v100");
    pod.node_selector = {{.key = "nvidia.com/gpu.product", .values = {"NVIDIA-A2"}}};
    EXPECT_EQ(why_pending(pod, shared_a2()),
              "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector: the "
              "node has nvidia.com/gpu.product=NVIDIA-A2-SHARED, the pod wants "
              "nvidia.com/gpu.product=NVIDIA-A2");
}

TEST(Schedule, NeedsOneTermOfTheAffinityWithAllItsRules) {
    PodTemplate pod;
    pod.node_affinity = {{.labels = {{.key = "zone", .values = {"b", "c"}}}},
                         {.labels = {{.key = "zone", .values = {"a"}},
                                     {.key = "spot", .operation = Operator::kDoesNotExist}}}};
    EXPECT_EQ(why_pending(pod, shared_a2()), "");
    NodeView node = shared_a2();
    node.labels["spot"] = "true";
    EXPECT_NE(why_pending(pod, node).find("the pod wants zone in (b, c)"), std::string::npos);
}

TEST(Schedule, HeedsTheFieldsOfATermAndAnEmptyTermMatchesNothing) {
    PodTemplate pod;
    NodeView node = shared_a2();
    node.name = "host";
    pod.node_affinity = {{.fields = {{.key = "metadata.name", .values = {"host"}}}}};
    EXPECT_EQ(why_pending(pod, node), "");
    node.name = "other";
    EXPECT_NE(why_pending(pod, node), "");
    pod.node_affinity = {{}};
    EXPECT_NE(why_pending(pod, node).find("(an empty term)"), std::string::npos);
}

TEST(Schedule, KnowsEveryOperator) {
    const Labels labels{{"a", "1"}, {"n", "16384"}};
    struct Case {
        k8s::Requirement rule;
        bool holds;
    };
    const std::vector<Case> cases{
        {{.key = "a", .operation = Operator::kIn, .values = {"0", "1"}}, true},
        {{.key = "b", .operation = Operator::kIn, .values = {"1"}}, false},
        {{.key = "a", .operation = Operator::kNotIn, .values = {"1"}}, false},
        {{.key = "b", .operation = Operator::kNotIn, .values = {"1"}}, true},
        {{.key = "a", .operation = Operator::kExists}, true},
        {{.key = "b", .operation = Operator::kExists}, false},
        {{.key = "a", .operation = Operator::kDoesNotExist}, false},
        {{.key = "b", .operation = Operator::kDoesNotExist}, true},
        {{.key = "n", .operation = Operator::kGt, .values = {"15000"}}, true},
        {{.key = "n", .operation = Operator::kGt, .values = {"16384"}}, false},
        {{.key = "n", .operation = Operator::kLt, .values = {"20000"}}, true},
        {{.key = "n", .operation = Operator::kLt, .values = {"x"}}, false},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(k8s::holds(each.rule, labels), each.holds) << to_text(each.rule);
    }
}

TEST(Schedule, SumsContainersAndTakesTheLargestInitContainer) {
    PodTemplate pod = pod_with({{"nvidia.com/gpu", 1}});
    pod.containers.push_back(pod.containers.front());
    pod.init_containers.push_back({.name = "i", .devices = {{"nvidia.com/gpu", 3}}});
    EXPECT_EQ(devices_of(pod), (std::map<std::string, unsigned>{{"nvidia.com/gpu", 3}}));
    pod.init_containers.front().devices["nvidia.com/gpu"] = 1;
    EXPECT_EQ(devices_of(pod), (std::map<std::string, unsigned>{{"nvidia.com/gpu", 2}}));
}

}  // namespace
}  // namespace aliquot::sim::cluster
