// SPDX-License-Identifier: Apache-2.0
#include "k8s/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/yaml.h"

namespace aliquot::k8s {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

TEST(Node, IsReadFromJsonAndFromYamlAlike) {
    const auto node = parse_node(R"({"kind":"Node",
        "metadata":{"name":"gpu-1","uid":"u","resourceVersion":"7","labels":{"zone":"a"},
                    "annotations":{"x":"y"}},
        "spec":{"unschedulable":true,
                "taints":[{"key":"k","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}]},
        "status":{"capacity":{"cpu":"4","memory":"16Gi","nvidia.com/gpu":8},
                  "allocatable":{"cpu":"3500m","nvidia.com/gpu":"7"},
                  "conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}],
                  "nodeInfo":{"kubeletVersion":"v1.36.2"}}})");
    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->name, "gpu-1");
    EXPECT_EQ(node->label("zone"), "a");
    EXPECT_EQ(node->label("other"), std::nullopt);
    EXPECT_TRUE(node->is_cordoned);
    EXPECT_FALSE(node->is_ready()) << "Unknown is not True";
    ASSERT_EQ(node->taints.size(), 1U);
    EXPECT_EQ(node->taints[0].time_added, "2026-01-01T00:00:00Z");
    EXPECT_THAT(node->capacity, UnorderedElementsAre(Pair("cpu", 4), Pair("memory", 17179869184.0),
                                                     Pair("nvidia.com/gpu", 8)));
    EXPECT_EQ(count_of(node->allocatable, "nvidia.com/gpu"), 7U);
    EXPECT_EQ(node->kubelet_version, "v1.36.2");
    const auto yaml = document::parse_yaml(
        "{metadata: {name: n}, status: {allocatable: {nvidia.com/gpu: 1e1}, conditions: [{type: "
        "Ready, status: \"True\"}]}}");
    const Node same = read_node(yaml.documents[0]);
    EXPECT_TRUE(same.is_ready());
    EXPECT_EQ(count_of(same.allocatable, "nvidia.com/gpu"), 10U);
}

TEST(Node, OfAnyBytesIsRefusedOrRead) {
    for (const char* const text : {"", "[]", "{", "{}", R"({"metadata":7})",
                                   R"({"metadata":{"name":7}})", R"({"metadata":{"name":""}})"}) {
        EXPECT_FALSE(parse_node(text)) << text;
    }
    EXPECT_TRUE(parse_node(
        R"({"metadata":{"name":"n","labels":[1]},"spec":7,"status":{"conditions":{}}})"));
    const auto odd = parse_node(R"({"metadata":{"name":"n"},"spec":{"taints":[7,{}]}})");
    ASSERT_TRUE(odd);
    EXPECT_EQ(odd->taints.size(), 1U);
    EXPECT_FALSE(odd->is_ready()) << "no condition, not ready";
}

// Five readers once gave five answers to these.
TEST(Amounts, CountDevicesAsKubernetesDoes) {
    const auto read = document::parse_yaml(
        "{a: 8, b: \"8\", c: 1e1, d: 500m, e: -1, f: inf, g: 8 GPUs, h: \" 2 \", i: [1], j: null, "
        "k: 16Pi}");
    const Amounts amounts = read_amounts(&read.documents[0]);
    const auto count = [&](const char* name) { return count_of(amounts, name); };
    EXPECT_EQ(count("a"), 8U);
    EXPECT_EQ(count("b"), 8U);
    EXPECT_EQ(count("c"), 10U);
    EXPECT_EQ(count("d"), 1U) << "a part of a device takes one";
    EXPECT_EQ(count("e"), 0U);
    EXPECT_EQ(count("f"), 0U);
    EXPECT_EQ(count("g"), 0U);
    EXPECT_EQ(count("h"), 2U);
    EXPECT_EQ(count("i"), 0U);
    EXPECT_EQ(count("j"), 0U);
    EXPECT_EQ(count("k"), 16ULL << 50U);
    EXPECT_EQ(count("none"), 0U);
    EXPECT_TRUE(read_amounts(nullptr).empty());
}

}  // namespace
}  // namespace aliquot::k8s
