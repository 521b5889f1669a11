// SPDX-License-Identifier: Apache-2.0
#include "scheduling/served_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::scheduling {
namespace {

k8s::Node node_with(const std::string& gpus, const std::string& shares = "[]") {
    k8s::Node node{.name = "n1", .labels = {{"zone", "a"}}};
    node.allocatable = {{"cpu", 7.5}, {"memory", 64.0 * 1024 * 1024 * 1024}};
    node.conditions = {{.type = "Ready", .status = "True"}};
    node.annotations = {{"aliquot.dev/gpus", gpus}, {"aliquot.dev/shares", shares}};
    return node;
}

TEST(ReadServedNode, TellsHealthyGpusThatAreOfferedByTheirUnits) {
    const auto node = read_served_node(node_with(
        R"([{"index":0,"uuid":"GPU-a","healthy":true,"offers":{"nvidia.com/gpu.shared":4}},)"
        R"({"index":1,"uuid":"GPU-b","healthy":false,"offers":{"nvidia.com/gpu.shared":4}},)"
        R"({"index":2,"uuid":"GPU-c","healthy":true,"offers":{}},)"
        R"({"index":3,"uuid":"GPU-d","healthy":true,"offers":{"nvidia.com/mig-1g.5gb":7,"x/y":0}}])",
        R"([{"resource":"nvidia.com/gpu.shared","mechanism":"mps","devices":4,"perGpu":4}])"));
    ASSERT_TRUE(node);
    EXPECT_TRUE(node->is_open);
    EXPECT_EQ(node->cpu_milli, 7500);
    EXPECT_EQ(node->memory_mib, 65536);
    ASSERT_EQ(node->gpus.size(), 2U);
    EXPECT_EQ(node->gpus[0], (ServedGpu{"GPU-a", {{"nvidia.com/gpu.shared", 4}}}));
    EXPECT_EQ(node->gpus[1], (ServedGpu{"GPU-d", {{"nvidia.com/mig-1g.5gb", 7}}}));
    EXPECT_THAT(node->on_one_gpu, testing::ElementsAre("nvidia.com/gpu.shared"));
}

TEST(ReadServedNode, IsNoneWithoutOffersOfOurAgent) {
    EXPECT_FALSE(read_served_node(node_with(R"([{"index":0,"uuid":"GPU-a","healthy":true}])")));
    EXPECT_FALSE(read_served_node(node_with("nothing")));
    EXPECT_FALSE(read_served_node(k8s::Node{.name = "n1"}));
}

TEST(ReadServedNode, IsClosedWhileCordonedOrNotReady) {
    constexpr char kOne[] =
        R"([{"index":0,"uuid":"GPU-a","healthy":true,"offers":{"nvidia.com/gpu":1}}])";
    k8s::Node node = node_with(kOne);
    node.is_cordoned = true;
    EXPECT_FALSE(read_served_node(node)->is_open);
    node = node_with(kOne);
    node.conditions.clear();
    EXPECT_FALSE(read_served_node(node)->is_open);
}

TEST(Granted, IsReadAsItIsWritten) {
    const Granted granted = {{"uid-1", {{"nvidia.com/gpu", {{"GPU-a", 1}, {"GPU-b", 1}}}}},
                             {"uid-2", {{"nvidia.com/gpu.shared", {{"GPU-c", 3}}}}}};
    EXPECT_EQ(parse_granted(to_json(granted)), granted);
}

TEST(Granted, OfWhatIsNoSuchTextIsNothing) {
    for (const char* const text : {"", "[]", "7", "{\"u\":[]}", R"({"u":{"r":7}})",
                                   R"({"u":{"r":{"g":-1}}})", R"({"u":{"r":{"g":"x"}}})"}) {
        EXPECT_TRUE(parse_granted(text).empty()) << text;
    }
}

}  // namespace
}  // namespace aliquot::scheduling
