// SPDX-License-Identifier: Apache-2.0
#include "k8s/resource_name.h"

#include <gtest/gtest.h>

#include <string>

namespace aliquot::k8s {
namespace {

TEST(ResourceName, AcceptsWhatPluginsRegister) {
    for (const auto* name : {"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb",
                             "nvidia.com/GPU_4Gi", "a/b", "example.org/x-1"}) {
        EXPECT_TRUE(is_extended_resource(name)) << name;
    }
    EXPECT_TRUE(is_extended_resource("nvidia.com/" + std::string(63, 'a')));
}

TEST(ResourceName, RefusesWhatKubeletRefuses) {
    for (const auto* name :
         {"", "gpu", "/gpu", "nvidia.com/", "nvidia.com/a/b", "kubernetes.io/gpu",
          "device.kubernetes.io/gpu", "requests.nvidia.com/gpu", "Nvidia.com/gpu",
          "nvidia..com/gpu", "-nvidia.com/gpu", "nvidia.com/-gpu", "nvidia.com/gpu.",
          "nvidia.com/g pu", "nvidia.com/g+pu", "nvidia_com/gpu"}) {
        EXPECT_FALSE(is_extended_resource(name)) << name;
    }
    EXPECT_FALSE(is_extended_resource("nvidia.com/" + std::string(64, 'a')));
    // The quota key adds "requests." to the domain, which must stay within 253 characters.
    EXPECT_FALSE(is_extended_resource(std::string(245, 'a') + "/gpu"));
    EXPECT_TRUE(is_extended_resource(std::string(244, 'a') + "/gpu"));
}

TEST(ResourceName, OfTheNetworkIsNoGpu) {
    for (const auto* name : {"nvidia.com/hostdev", "nvidia.com/rdma_shared_device_a",
                             "nvidia.com/sriov_rdma", "nvidia.com/mig-1g.10gb.memory", "cpu"}) {
        EXPECT_FALSE(is_nvidia_resource(name)) << name;
        EXPECT_FALSE(is_nvidia_gpu(name)) << name;
        EXPECT_FALSE(is_gpu_resource(name)) << name;
    }
}

TEST(ResourceName, SaysWhoseGpuItIs) {
    for (const auto* name :
         {"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/pgpu"}) {
        EXPECT_TRUE(is_nvidia_resource(name)) << name;
        EXPECT_TRUE(is_nvidia_gpu(name)) << name;
        EXPECT_TRUE(is_gpu_resource(name)) << name;
    }
    for (const auto* name : {"aliquot.dev/small", "alpha.kubernetes.io/nvidia-gpu",
                             "k8s.amazonaws.com/vgpu", "aliyun.com/gpu-mem"}) {
        EXPECT_FALSE(is_nvidia_resource(name)) << name;
        EXPECT_TRUE(is_nvidia_gpu(name)) << name;
        EXPECT_TRUE(is_gpu_resource(name)) << name;
    }
    EXPECT_FALSE(is_nvidia_gpu("amd.com/gpu"));
    EXPECT_TRUE(is_gpu_resource("amd.com/gpu"));
}

TEST(ResourceName, HasAMigProfile) {
    EXPECT_EQ(mig_profile("nvidia.com/mig-1g.5gb"), "1g.5gb");
    EXPECT_EQ(mig_profile("nvidia.com/mig-3g.20gb.shared"), "3g.20gb");
    EXPECT_EQ(mig_profile("nvidia.com/mig-1g.10gb.memory"), "");
    EXPECT_EQ(mig_profile("nvidia.com/gpu"), "");
}

}  // namespace
}  // namespace aliquot::k8s
