// SPDX-License-Identifier: Apache-2.0
#include "node/gpu_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::node {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr const char* kNode = R"({"metadata":{"name":"gpu-1","labels":{"a":"b"},
 "managedFields":[
  {"manager":"aliquot","operation":"Apply","fieldsV1":{"f:metadata":{"f:labels":{"f:team":{}}}}},
  {"manager":"kubelet","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{"f:a":{}}}}}],
 "annotations":{"aliquot.dev/agent":"0.1.0",
  "aliquot.dev/gpus":"[{\"index\":0,\"uuid\":\"GPU-1\",\"model\":\"NVIDIA A2\",\"memoryMiB\":15356,\"healthy\":false,\"reason\":\"Xid 79\"}]"}},
 "spec":{"unschedulable":true},
 "status":{"capacity":{"cpu":"4","nvidia.com/gpu":"4"},"allocatable":{"nvidia.com/gpu":"3"},
  "conditions":[{"type":"Ready","status":"True"},{"type":"GpuHealthy","status":"False"}],
  "nodeInfo":{"kubeletVersion":"v1.36.2"}}})";

TEST(GpuNode, TellsWhatItHasAndHowItIs) {
    const auto node = read_gpu_node(kNode);
    ASSERT_TRUE(node) << node.error().message;
    EXPECT_TRUE(node->object.is_ready());
    EXPECT_TRUE(node->object.is_cordoned);
    EXPECT_TRUE(node->has_gpus());
    EXPECT_THAT(node->capacity, ElementsAre(Pair("nvidia.com/gpu", 4U)));
    EXPECT_THAT(node->allocatable, ElementsAre(Pair("nvidia.com/gpu", 3U)));
    EXPECT_EQ(node->models(), "1x NVIDIA A2");
    EXPECT_EQ(node->unhealthy_gpus(), 1U);
    EXPECT_FALSE(node->is_well());
    EXPECT_THAT(node->labels_of("aliquot"), ElementsAre("team"));
    EXPECT_TRUE(node->labels_of("kubelet").empty());
}

TEST(GpuNode, ANetworkCardOfNvidiasIsNoGpu) {
    const auto node = read_gpu_node(
        R"({"metadata":{"name":"net-1"},"status":{"capacity":{"nvidia.com/hostdev":"8","nvidia.com/rdma_shared_device_a":"63"}}})");
    ASSERT_TRUE(node);
    EXPECT_FALSE(node->has_gpus());
    EXPECT_TRUE(node->capacity.empty());
}

TEST(GpuNode, IsKnownByItsLabelsWithoutAnAgent) {
    const auto node = read_gpu_node(
        R"({"metadata":{"name":"n","labels":{"nvidia.com/gpu.present":"true",
            "nvidia.com/gpu.product":"NVIDIA-A10","nvidia.com/gpu.count":"2"}}})");
    ASSERT_TRUE(node);
    EXPECT_TRUE(node->has_gpus());
    EXPECT_EQ(node->models(), "2x NVIDIA-A10");
    EXPECT_TRUE(node->is_well());
    EXPECT_FALSE(read_gpu_node("[1]"));
}

TEST(Holders, CountWhatRunsTogether) {
    const auto pod = read_holder(
        R"({"metadata":{"namespace":"ml","name":"p"},"status":{"phase":"Running"},"spec":{"nodeName":"n",
            "initContainers":[{"resources":{"limits":{"nvidia.com/gpu":3}}},
                              {"restartPolicy":"Always","resources":{"limits":{"nvidia.com/gpu":"1"}}}],
            "containers":[{"resources":{"requests":{"nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":"1"}}},
                          {"resources":{"limits":{"nvidia.com/gpu":"1","cpu":"4"}}}]}})");
    ASSERT_TRUE(pod);
    EXPECT_EQ(pod->pod, "ml/p");
    // As Kubernetes counts: the init container has ended before the sidecar begins.
    EXPECT_THAT(pod->devices, ElementsAre(Pair("nvidia.com/gpu", 3U)));
}

TEST(Holders, AreNoneThatEndedOrHaveNothing) {
    for (
        const auto* text :
        {"", "7", R"({"spec":{"nodeName":"n"}})",
         R"({"spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":"1"}}}]}})",
         R"({"status":{"phase":"Failed"},"spec":{"nodeName":"n","containers":[{"resources":{"limits":{"nvidia.com/gpu":"1"}}}]}})"}) {
        EXPECT_FALSE(read_holder(text)) << text;
    }
}

}  // namespace
}  // namespace aliquot::node
