// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharing/offer.h"

namespace aliquot::sharing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Ids = std::vector<std::string>;
using enum DeviceListStrategy;

Resource two_shared() {
    Resource result{.name = "nvidia.com/gpu", .shared = true};
    for (unsigned i = 0; i < 2; ++i) {
        OfferedGpu offered{.replicas = 3, .limits = {.memory_bytes = 1000, .compute_percent = 40}};
        offered.gpu.index = i;
        offered.gpu.minor = i + 4;
        offered.gpu.uuid = {i == 0 ? "GPU-A" : "GPU-B"};
        result.gpus.push_back(offered);
    }
    return result;
}

TEST(Grant, EnvvarNamesEachGpuOnceByIndexOrder) {
    const auto grant = make_grant(two_shared(), {}, Ids{"GPU-B::1", "GPU-A::0", "GPU-B::2"}, "n");
    ASSERT_TRUE(grant);
    EXPECT_THAT(grant->environment, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "GPU-A,GPU-B")));
    ASSERT_EQ(grant->shares.size(), 2U);
    EXPECT_EQ(grant->shares[1].replicas, 2U);
    EXPECT_EQ(grant->shares[1].limits.memory_bytes, 2000U);
    EXPECT_EQ(grant->shares[1].limits.compute_percent, 80U);
}

TEST(Grant, LimitsAreTheGuardsUnlessMpsKeepsThem) {
    Resource resource = two_shared();
    resource.gpus[0].limits.weight = 30;
    auto grant = make_grant(resource, {}, Ids{"GPU-A::0", "GPU-A::2"}, "n");
    ASSERT_TRUE(grant);
    EXPECT_TRUE(grant->shares[0].guarded);
    EXPECT_EQ(grant->shares[0].limits.weight, 60U);
    resource.gpus[0].shared_by = grant::Mechanism::kMps;
    grant = make_grant(resource, {}, Ids{"GPU-A::0"}, "n");
    ASSERT_TRUE(grant);
    EXPECT_FALSE(grant->shares[0].guarded);
    resource.gpus[1].limits.memory_bytes.reset();
    resource.gpus[1].limits.compute_percent.reset();
    grant = make_grant(resource, {}, Ids{"GPU-B::0"}, "n");
    ASSERT_TRUE(grant);
    EXPECT_FALSE(grant->shares[0].guarded);
}

TEST(Grant, IndexStrategyTellsIndices) {
    const auto grant =
        make_grant(two_shared(), {.id_strategy = DeviceIdStrategy::kIndex}, Ids{"GPU-B::1"}, "n");
    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->environment.at("NVIDIA_VISIBLE_DEVICES"), "1");
}

TEST(Grant, VolumeMountsWinOverEnvvarAsInNvidiasPlugin) {
    const auto grant =
        make_grant(two_shared(), {.strategies = {kEnvvar, kVolumeMounts}}, Ids{"GPU-A::0"}, "n");
    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->environment.at("NVIDIA_VISIBLE_DEVICES"), "/var/run/nvidia-container-devices");
    EXPECT_THAT(grant->mounts, ElementsAre(grant::Grant::Mount{
                                   "/var/run/nvidia-container-devices/GPU-A", "/dev/null", true}));
}

TEST(Grant, CdiGivesQualifiedNamesByBothWays) {
    const auto grant = make_grant(two_shared(), {.strategies = {kCdiAnnotations, kCdiCri}},
                                  Ids{"GPU-A::0", "GPU-B::0"}, "7");
    ASSERT_TRUE(grant);
    EXPECT_THAT(grant->environment, IsEmpty());
    EXPECT_THAT(grant->annotations, ElementsAre(Pair("cdi.k8s.io/nvidia-device-plugin_7",
                                                     "k8s.device-plugin.nvidia.com/gpu=GPU-A,"
                                                     "k8s.device-plugin.nvidia.com/gpu=GPU-B")));
    EXPECT_THAT(grant->cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=GPU-A",
                                                "k8s.device-plugin.nvidia.com/gpu=GPU-B"));
}

TEST(Grant, DeviceSpecsComeOnlyBesideANonCdiStrategy) {
    GrantOptions options{.pass_device_specs = true,
                         .dev_root = "/run/nvidia/driver/",
                         .control_nodes = {"/dev/nvidiactl"}};
    const auto grant = make_grant(two_shared(), options, Ids{"GPU-B::0"}, "n");
    ASSERT_TRUE(grant);
    EXPECT_THAT(
        grant->device_nodes,
        ElementsAre(
            grant::Grant::DeviceNode{"/dev/nvidiactl", "/run/nvidia/driver/dev/nvidiactl", "rw"},
            grant::Grant::DeviceNode{"/dev/nvidia5", "/run/nvidia/driver/dev/nvidia5", "rw"}));
    options.strategies = {kCdiCri};
    EXPECT_THAT(make_grant(two_shared(), options, Ids{"GPU-B::0"}, "n")->device_nodes, IsEmpty());
}

TEST(Grant, RefusesMoreThanOneShareWhereThatIsForbidden) {
    Resource resource = two_shared();
    resource.fail_requests_greater_than_one = true;
    const auto grant = make_grant(resource, {}, Ids{"GPU-A::0", "GPU-B::0"}, "n");
    ASSERT_FALSE(grant);
    EXPECT_EQ(grant.error().code, ErrorCode::kInvalidInput);
}

TEST(Grant, NamesTheDeviceThatIsNotOurs) {
    for (const auto* id : {"GPU-C::0", "GPU-A", "GPU-A::3", "", "GPU-A::x"}) {
        const auto grant = make_grant(two_shared(), {}, Ids{id}, "n");
        ASSERT_FALSE(grant) << id;
        EXPECT_EQ(grant.error().code, ErrorCode::kNotFound);
    }
    EXPECT_FALSE(make_grant(two_shared(), {}, Ids{}, "n"));
    EXPECT_FALSE(make_grant(two_shared(), {}, Ids{"GPU-A::0", "GPU-A::0"}, "n"));
}

}  // namespace
}  // namespace aliquot::sharing
