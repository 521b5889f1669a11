// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/injection.h"

#include <gmock/gmock.h>

#include "cdi/spec.h"
#include "os/temporary_directory.h"

namespace aliquot::sim::cluster {
namespace {

using testing::ElementsAre;

class InjectionTest : public testing::Test {
protected:
    InjectionTest() {
        for (unsigned i = 0; i < 2; ++i) {
            gpu::Gpu gpu;
            gpu.index = i;
            gpu.minor = i + 4;
            gpu.uuid = {"GPU-" + std::to_string(i)};
            inventory_.gpus.push_back(gpu);
        }
        const cdi::Spec spec{
            .kind = "k8s.device-plugin.nvidia.com/gpu",
            .devices = {{.name = "GPU-1", .edits = {.device_nodes = {{.path = "/dev/nvidia5"}}}}},
            .edits = {.environment = {"NVIDIA_VISIBLE_DEVICES=void"},
                      .device_nodes = {{.path = "/dev/nvidiactl"}}}};
        EXPECT_TRUE(root_.write_atomically("/var/run/cdi/a.json", *cdi::to_json(spec)));
    }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    gpu::Inventory inventory_;
};

TEST_F(InjectionTest, OfNothingShowsNoGpu) {
    const auto injection = inject(root_, {}, inventory_);
    ASSERT_TRUE(injection);
    EXPECT_TRUE(injection->gpus.empty());
    EXPECT_TRUE(injection->environment.empty());
}

TEST_F(InjectionTest, FollowsTheVariable) {
    grant::Grant grant;
    grant.environment["NVIDIA_VISIBLE_DEVICES"] = "GPU-1,GPU-0";
    EXPECT_THAT(inject(root_, grant, inventory_)->gpus, ElementsAre("GPU-0", "GPU-1"));
    grant.environment["NVIDIA_VISIBLE_DEVICES"] = "1";  // deviceIDStrategy: index
    EXPECT_THAT(inject(root_, grant, inventory_)->gpus, ElementsAre("GPU-1"));
}

TEST_F(InjectionTest, AMigDeviceIsSeenAloneWithoutItsGpu) {
    inventory_.gpus[1].mig_devices = {{.uuid = {"MIG-a"}, .index = 0},
                                      {.uuid = {"MIG-b"}, .index = 1}};
    grant::Grant grant;
    grant.environment["NVIDIA_VISIBLE_DEVICES"] = "MIG-b";
    EXPECT_THAT(inject(root_, grant, inventory_)->gpus, ElementsAre("MIG-b"));
    grant.environment["NVIDIA_VISIBLE_DEVICES"] = "1:0";  // deviceIDStrategy: index
    EXPECT_THAT(inject(root_, grant, inventory_)->gpus, ElementsAre("MIG-a"));
    const cdi::Spec spec{
        .kind = "nvidia.com/gpu",
        .devices = {{.name = "MIG-a", .edits = {.device_nodes = {{.path = "/dev/nvidia5"}}}}}};
    EXPECT_TRUE(root_.write_atomically("/var/run/cdi/b.json", *cdi::to_json(spec)));
    grant.environment.clear();
    grant.cdi_devices = {"nvidia.com/gpu=MIG-a"};
    EXPECT_THAT(inject(root_, grant, inventory_)->gpus, ElementsAre("MIG-a"));
}

TEST_F(InjectionTest, TellsAGuardItsFilesByVariables) {
    grant::Grant grant;
    grant.mounts = {{.container_path = "/run/aliquot/guard", .host_path = "/run/r/1/guard"},
                    {.container_path = "/run/aliquot/lib", .host_path = "/var/lib/g/00"}};
    const auto environment = inject(root_, grant, inventory_)->environment;
    const std::string base = directory_.path().native();
    EXPECT_EQ(environment.at("ALIQUOT_GUARD_CONFIG"), base + "/run/r/1/guard/config");
    EXPECT_EQ(environment.at("ALIQUOT_GUARD_REGION"), base + "/run/r/1/guard/ledger");
    EXPECT_EQ(environment.at("ALIQUOT_GUARD_NODE"), base + "/run/r/1/guard/node");
    EXPECT_EQ(environment.at("LD_PRELOAD"), base + "/var/lib/g/00/libaliquot-guard.so");
}

TEST_F(InjectionTest, FollowsVolumeMounts) {
    grant::Grant grant;
    grant.environment["NVIDIA_VISIBLE_DEVICES"] = "/var/run/nvidia-container-devices";
    grant.mounts = {
        {.container_path = "/var/run/nvidia-container-devices/GPU-0", .host_path = "/dev/null"}};
    EXPECT_THAT(inject(root_, grant, inventory_)->gpus, ElementsAre("GPU-0"));
}

TEST_F(InjectionTest, ResolvesCdiNamesFromFieldsAndAnnotations) {
    grant::Grant by_field;
    by_field.cdi_devices = {"k8s.device-plugin.nvidia.com/gpu=GPU-1"};
    grant::Grant by_annotation;
    by_annotation.annotations["cdi.k8s.io/nvidia-device-plugin_x"] =
        "k8s.device-plugin.nvidia.com/gpu=GPU-1";
    for (const grant::Grant& grant : {by_field, by_annotation}) {
        const auto injection = inject(root_, grant, inventory_);
        ASSERT_TRUE(injection) << injection.error().message;
        EXPECT_THAT(injection->gpus, ElementsAre("GPU-1"));
        EXPECT_EQ(injection->environment.at("NVIDIA_VISIBLE_DEVICES"), "void");
    }
}

TEST_F(InjectionTest, RefusesADeviceThatNoFileHas) {
    grant::Grant grant;
    grant.cdi_devices = {"k8s.device-plugin.nvidia.com/gpu=GPU-9"};
    const auto injection = inject(root_, grant, inventory_);
    ASSERT_FALSE(injection);
    EXPECT_EQ(injection.error().message,
              "unresolvable CDI device k8s.device-plugin.nvidia.com/gpu=GPU-9");
}

}  // namespace
}  // namespace aliquot::sim::cluster
