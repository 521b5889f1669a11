// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/resource_name.h"

#include <gtest/gtest.h>

#include <string>

namespace aliquot::sim {
namespace {

TEST(ResourceName, AcceptsWhatPluginsRegister) {
    for (const auto* name : {"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb",
                             "nvidia.com/GPU_4Gi", "a/b", "example.org/x-1"}) {
        EXPECT_TRUE(is_extended_resource_name(name)) << name;
    }
    EXPECT_TRUE(is_extended_resource_name("nvidia.com/" + std::string(63, 'a')));
}

TEST(ResourceName, RefusesWhatKubeletRefuses) {
    for (const auto* name :
         {"", "gpu", "/gpu", "nvidia.com/", "nvidia.com/a/b", "kubernetes.io/gpu",
          "device.kubernetes.io/gpu", "requests.nvidia.com/gpu", "Nvidia.com/gpu",
          "nvidia..com/gpu", "-nvidia.com/gpu", "nvidia.com/-gpu", "nvidia.com/gpu.",
          "nvidia.com/g pu", "nvidia.com/g+pu", "nvidia_com/gpu"}) {
        EXPECT_FALSE(is_extended_resource_name(name)) << name;
    }
    EXPECT_FALSE(is_extended_resource_name("nvidia.com/" + std::string(64, 'a')));
    // The quota key adds "requests." to the domain, which must stay within 253 characters.
    EXPECT_FALSE(is_extended_resource_name(std::string(245, 'a') + "/gpu"));
    EXPECT_TRUE(is_extended_resource_name(std::string(244, 'a') + "/gpu"));
}

}  // namespace
}  // namespace aliquot::sim
