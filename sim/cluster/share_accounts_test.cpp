// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/share_accounts.h"

#include <gmock/gmock.h>

namespace aliquot::sim::cluster {
namespace {

gpu::Gpu gpu(unsigned index, const std::string& model) {
    gpu::Gpu gpu;
    gpu.index = index;
    gpu.uuid = {"GPU-" + std::to_string(index)};
    gpu.model = model;
    gpu.memory_bytes = 15ULL << 30U;
    gpu.compute_major = 8;
    gpu.compute_minor = 6;
    return gpu;
}

sharing::Offer offer_of(const std::string& name, unsigned replicas) {
    sharing::Resource resource;
    resource.name = name;
    resource.shared = replicas > 1;
    for (unsigned i = 0; i < 2; ++i) {
        sharing::OfferedGpu offered;
        offered.gpu = gpu(i, "NVIDIA A2");
        offered.replicas = replicas;
        if (replicas > 1) offered.limits.memory_bytes = 7ULL << 30U;
        resource.gpus.push_back(offered);
    }
    sharing::Offer offer;
    offer.resources.push_back(resource);
    return offer;
}

TEST(Shares, AreDescribedByGpu) {
    const auto shared = offer_of("nvidia.com/gpu", 2);
    const auto one = describe_devices({{"nvidia.com/gpu", {"GPU-1::0"}}}, shared);
    EXPECT_THAT(one.gpus, testing::ElementsAre("GPU-1"));
    EXPECT_EQ(one.gpu, "1 NVIDIA A2");
    EXPECT_EQ(one.share, "1 of 2, 7Gi");
    const auto both = describe_devices({{"nvidia.com/gpu", {"GPU-1::0", "GPU-0::1"}}}, shared);
    EXPECT_EQ(both.gpu, "0, 1 NVIDIA A2");
    EXPECT_EQ(both.share, "2 GPUs, 1 of 2, 7Gi");
    const auto all_of_one =
        describe_devices({{"nvidia.com/gpu", {"GPU-0::0", "GPU-0::1"}}}, shared);
    EXPECT_EQ(all_of_one.share, "2 of 2, 14Gi");
    const auto whole =
        describe_devices({{"nvidia.com/gpu", {"GPU-0"}}}, offer_of("nvidia.com/gpu", 1));
    EXPECT_EQ(whole.share, "whole");
    EXPECT_EQ(describe_devices({}, shared).gpu, "-");
}

TEST(Shares, OfComputeTogetherAreAtMostTheGpu) {
    auto offer = offer_of("nvidia.com/gpu", 2);
    for (auto& one : offer.resources[0].gpus) one.limits.compute_percent = 60;
    const auto both = describe_devices({{"nvidia.com/gpu", {"GPU-0::0", "GPU-0::1"}}}, offer);
    EXPECT_EQ(both.share, "2 of 2, 14Gi, 100%");
}

TEST(NodeLabels, AreSpelledAsGpuFeatureDiscoveryDoes) {
    const gpu::Inventory inventory{.gpus = {gpu(0, "NVIDIA A2"), gpu(1, "NVIDIA A2")}};
    Labels labels = node_labels(inventory, offer_of("nvidia.com/gpu", 4), "host");
    EXPECT_EQ(labels["nvidia.com/gpu.present"], "true");
    EXPECT_EQ(labels["nvidia.com/gpu.product"], "NVIDIA-A2-SHARED");
    EXPECT_EQ(labels["nvidia.com/gpu.count"], "2");
    EXPECT_EQ(labels["nvidia.com/gpu.replicas"], "4");
    EXPECT_EQ(labels["nvidia.com/gpu.memory"], "15360");
    EXPECT_EQ(labels["nvidia.com/gpu.family"], "ampere");
    EXPECT_EQ(labels["kubernetes.io/hostname"], "host");
    labels = node_labels(inventory, offer_of("nvidia.com/gpu.shared", 4), "host");
    EXPECT_EQ(labels["nvidia.com/gpu.product"], "NVIDIA-A2");
    labels = node_labels({.gpus = {gpu(0, "NVIDIA A100-SXM4-40GB (x)")}},
                         offer_of("nvidia.com/gpu", 1), "host");
    EXPECT_EQ(labels["nvidia.com/gpu.product"], "NVIDIA-A100-SXM4-40GB-x");
    EXPECT_EQ(labels["nvidia.com/gpu.sharing-strategy"], "none");
}

}  // namespace
}  // namespace aliquot::sim::cluster
