// SPDX-License-Identifier: Apache-2.0
#include "dra/device.h"

#include <gtest/gtest.h>

#include "claims/device.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "dra/test_node.h"

namespace aliquot::dra {
namespace {

using document::text_at;

TEST(DraDevice, TellsAGpuInTheFieldsWords) {
    const auto devices =
        devices_of(test_inventory(1), {}, {{{{"GPU-0"}, "pci0000:64"}}}, Mode::kWhole);
    ASSERT_EQ(devices.size(), 1U);
    const document::Value& told = devices[0].published;
    EXPECT_EQ(devices[0].name, "gpu-0000-65-00-0");
    EXPECT_EQ(text_at(told, "attributes.uuid.string"), "GPU-0");
    EXPECT_EQ(text_at(told, "attributes.index.int"), "0");
    EXPECT_EQ(text_at(told, "attributes.architecture.string"), "Hopper");
    EXPECT_EQ(text_at(told, "attributes.cudaComputeCapability.version"), "9.0.0");
    EXPECT_EQ(text_at(told, "attributes.driverVersion.version"), "580.65.6");
    EXPECT_EQ(text_at(told, "attributes.cudaDriverVersion.version"), "13.0.0");
    EXPECT_EQ(text_at(told, "attributes.memoryMiB.int"), "81559");
    EXPECT_EQ(text_at(told, "attributes[resource.kubernetes.io/pcieRoot].string"), "pci0000:64");
    EXPECT_EQ(text_at(told, "attributes[resource.kubernetes.io/pciBusID].string"), "0000:65:00.0");
    EXPECT_EQ(text_at(told, "capacity.memory.value"), "81559Mi");
    EXPECT_EQ(told.find("allowMultipleAllocations"), nullptr);
    EXPECT_EQ(told.find("taints"), nullptr);
}

TEST(DraDevice, RoundsConsumableMemoryDownToItsSteps) {
    const auto devices = devices_of(test_inventory(1), {}, {}, Mode::kConsumable);
    ASSERT_EQ(devices.size(), 1U);
    const document::Value& told = devices[0].published;
    EXPECT_EQ(text_at(told, "allowMultipleAllocations"), "true");
    EXPECT_EQ(text_at(told, "capacity.memory.value"), "81408Mi");
    EXPECT_EQ(text_at(told, "capacity.memory.requestPolicy.default"), "81408Mi");
    EXPECT_EQ(text_at(told, "capacity.memory.requestPolicy.validRange.step"), "256Mi");
    EXPECT_EQ(text_at(told, "capacity.compute.requestPolicy.validRange.min"), "0");
    EXPECT_EQ(devices[0].memory_bytes % kMemoryStep, 0U);
    // Whatever is a capacity of a shared device is consumed: each has a policy.
    for (const auto& [name, capacity] : told.find("capacity")->entries) {
        EXPECT_NE(capacity.find("requestPolicy"), nullptr) << name.scalar;
    }
}

TEST(DraDevice, PublishesFixedSharesAsExclusiveDevices) {
    gpu::Inventory inventory = test_inventory(2);
    const sharing::Offer offer{
        .resources = {{.name = "nvidia.com/gpu",
                       .shared = true,
                       .gpus = {{.gpu = inventory.gpus[0],
                                 .replicas = 3,
                                 .limits = {.memory_bytes = 10ULL << 30U, .compute_percent = 30}},
                                {.gpu = inventory.gpus[1]}}}}};
    const auto devices = devices_of(inventory, offer, {}, Mode::kFixed);
    ASSERT_EQ(devices.size(), 4U);
    EXPECT_EQ(devices[2].name, "gpu-0000-65-00-0-share-2");
    EXPECT_EQ(devices[2].limits.memory_bytes, 10ULL << 30U);
    EXPECT_EQ(text_at(devices[2].published, "capacity.memory.value"), "10240Mi");
    EXPECT_EQ(text_at(devices[2].published, "capacity.compute.value"), "30");
    EXPECT_EQ(text_at(devices[2].published, "attributes.type.string"), "share");
    EXPECT_EQ(devices[2].published.find("allowMultipleAllocations"), nullptr);
    EXPECT_EQ(devices[3].name, "gpu-0000-66-00-0");
    EXPECT_EQ(devices_of(inventory, offer, {}, Mode::kWhole).size(), 2U);
}

TEST(DraDevice, PublishesMigDevicesInsteadOfTheirGpu) {
    gpu::Inventory inventory = test_inventory(1);
    inventory.gpus[0].mig_enabled = true;
    inventory.gpus[0].mig_devices = {{.uuid = {"MIG-a"},
                                      .profile = "1g.10gb+me",
                                      .placement = {4, 1},
                                      .memory_bytes = 10ULL << 30U,
                                      .gpu_slices = 1,
                                      .compute_slices = 1,
                                      .multiprocessors = 16},
                                     {.uuid = {"MIG-b"},
                                      .profile = "1c.3g.40gb",
                                      .compute_instance = 2,
                                      .placement = {0, 4},
                                      .gpu_slices = 3,
                                      .compute_slices = 1}};
    const auto devices = devices_of(inventory, {}, {}, Mode::kConsumable);
    ASSERT_EQ(devices.size(), 2U);
    EXPECT_EQ(devices[0].name, "gpu-0000-65-00-0-mig-1g-10gb-me-4");
    EXPECT_EQ(devices[1].name, "gpu-0000-65-00-0-mig-1c-3g-40gb-0-c2");
    EXPECT_EQ(text_at(devices[0].published, "attributes.parentUUID.string"), "GPU-0");
    EXPECT_EQ(text_at(devices[0].published, "attributes.profile.string"), "1g.10gb+me");
    EXPECT_EQ(text_at(devices[0].published, "capacity.multiprocessors.value"), "16");
    EXPECT_EQ(devices[0].published.find("allowMultipleAllocations"), nullptr);
}

TEST(DraDevice, TaintsWhatIsUnhealthyAndNothingElse) {
    gpu::Inventory inventory = test_inventory(2);
    inventory.gpus[0].health = {.state = gpu::Health::State::kUnhealthy, .reason = "Xid 79"};
    inventory.gpus[1].health = {.state = gpu::Health::State::kDegraded, .reason = "Xid 63"};
    const auto devices = devices_of(inventory, {}, {}, Mode::kWhole);
    EXPECT_EQ(text_at(devices[0].published, "taints.0.key"), "gpu.aliquot.dev/unhealthy");
    EXPECT_EQ(text_at(devices[0].published, "taints.0.effect"), "NoSchedule");
    EXPECT_EQ(devices[1].published.find("taints"), nullptr);
}

TEST(DraDevice, MakesSemanticVersions) {
    EXPECT_EQ(semantic_version("580.65.06"), "580.65.6");
    EXPECT_EQ(semantic_version("550.54"), "550.54.0");
    EXPECT_EQ(semantic_version("9"), "9.0.0");
    EXPECT_EQ(semantic_version("1.2.3.4"), "");
    EXPECT_EQ(semantic_version("580.x"), "");
    EXPECT_EQ(semantic_version(""), "");
}

TEST(DraDevice, LeavesOutWhatHasNoUuid) {
    gpu::Inventory inventory = test_inventory(1);
    inventory.gpus[0].uuid = {};
    EXPECT_TRUE(devices_of(inventory, {}, {}, Mode::kWhole).empty());
}

}  // namespace
}  // namespace aliquot::dra
