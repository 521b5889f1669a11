// SPDX-License-Identifier: Apache-2.0
#include "admission/gpu_node.h"

#include <gmock/gmock.h>

namespace aliquot::admission {
namespace {

using testing::ElementsAre;

TEST(GpuNode, IsReadFromTheAgentsAnnotation) {
    const auto node = read_node(R"({"metadata":{"name":"n","labels":{
        "nvidia.com/gpu.product":"NVIDIA-A2-SHARED","nvidia.com/gpu.memory":"15356"},
        "annotations":{"aliquot.dev/shares":
          "[{\"resource\":\"nvidia.com/gpu\",\"mechanism\":\"memory\",\"devices\":8,\"perGpu\":4,\"memoryMiB\":3839}]"}},
        "status":{"allocatable":{"nvidia.com/gpu":"6","cpu":"4"}}})");
    ASSERT_TRUE(node);
    EXPECT_EQ(node->product, "NVIDIA-A2");
    ASSERT_NE(node->model, nullptr);
    EXPECT_EQ(node->model->key, "a2");
    EXPECT_THAT(node->shares, ElementsAre(Share{.resource = "nvidia.com/gpu",
                                                .devices = 8,
                                                .per_gpu = 4,
                                                .is_limited = true,
                                                .memory_mib = 3839,
                                                .compute_percent = 25}));
}

TEST(GpuNode, WhereUnitsDifferTheSmallestCounts) {
    const auto node =
        read_node(R"({"metadata":{"name":"n","labels":{"nvidia.com/gpu.memory":"15356"},
        "annotations":{"aliquot.dev/shares":
          "[{\"resource\":\"nvidia.com/gpu\",\"mechanism\":\"mps\",\"devices\":1,\"perGpu\":2,\"memoryMiB\":5000,\"computePercent\":60},{\"resource\":\"nvidia.com/gpu\",\"mechanism\":\"mps\",\"devices\":1,\"perGpu\":2,\"memoryMiB\":2000,\"computePercent\":20}]"}},
        "status":{"allocatable":{"nvidia.com/gpu":"2"}}})");
    ASSERT_TRUE(node);
    ASSERT_EQ(node->shares.size(), 1U);
    EXPECT_EQ(node->shares[0].devices, 2U);
    EXPECT_EQ(node->shares[0].memory_mib, 2000U);
    EXPECT_EQ(node->shares[0].compute_percent, 20U);
}

TEST(GpuNode, AnUnlimitedShareCountsAsItsEvenPart) {
    const auto node = read_node(R"({"metadata":{"name":"n","annotations":{"aliquot.dev/shares":
          "[{\"resource\":\"nvidia.com/gpu\",\"mechanism\":\"time-slicing\",\"devices\":4,\"perGpu\":4,\"memoryMiB\":16000}]"}},
        "status":{}})");
    ASSERT_TRUE(node);
    EXPECT_EQ(node->shares[0].memory_mib, 4000U);
    EXPECT_FALSE(node->shares[0].is_limited);
}

TEST(GpuNode, WithoutOurAgentNvidiasLabelsSayIt) {
    const auto node = read_node(R"({"metadata":{"name":"n","labels":{
        "nvidia.com/gpu.product":"NVIDIA-A100-SXM4-40GB","nvidia.com/gpu.memory":"40960",
        "nvidia.com/gpu.replicas":"1","nvidia.com/gpu.sharing-strategy":"none",
        "nvidia.com/mig-1g.5gb.memory":"4864","nvidia.com/mig-1g.5gb.replicas":"1",
        "nvidia.com/mig-1g.5gb.sharing-strategy":"none"}},
        "status":{"allocatable":{"nvidia.com/gpu":"7","nvidia.com/mig-1g.5gb":"7","nvidia.com/hostdev":"1"}}})");
    ASSERT_TRUE(node);
    ASSERT_EQ(node->shares.size(), 2U);
    EXPECT_TRUE(node->shares[0].is_whole());
    EXPECT_EQ(node->shares[0].memory_mib, 40960U);
    EXPECT_EQ(node->shares[1].resource, "nvidia.com/mig-1g.5gb");
    EXPECT_TRUE(node->shares[1].mig);
    EXPECT_EQ(node->shares[1].memory_mib, 4864U);
    EXPECT_EQ(node->shares[1].compute_percent, 14U);
}

TEST(GpuNode, OthersAreNone) {
    EXPECT_FALSE(read_node("no json"));
    EXPECT_FALSE(read_node(R"({"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"4"}}})"));
    EXPECT_FALSE(read_node(R"({"metadata":[],"status":7})"));
}

TEST(GpuNode, ProductsAreReadWithoutWhatSharingAdds) {
    EXPECT_EQ(plain_product("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"), "NVIDIA-A100-SXM4-40GB");
    EXPECT_EQ(plain_product("NVIDIA-A2-SHARED"), "NVIDIA-A2");
    EXPECT_EQ(plain_product("Tesla-T4"), "Tesla-T4");
}

}  // namespace
}  // namespace aliquot::admission
