// SPDX-License-Identifier: Apache-2.0
#include "agent/mig_requests.h"

#include <gmock/gmock.h>

#include "agent/region_holder.h"
#include "dra/checkpoint.h"
#include "mig/board.h"
#include "os/temporary_directory.h"

namespace aliquot::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kFile[] = R"(version: v1
mig-configs:
  mine:
  - devices: [1]
    mig-enabled: true
    mig-devices: {"3g.20gb": 2}
)";

gpu::Inventory two_a100() {
    gpu::Inventory inventory;
    for (unsigned i = 0; i < 2; ++i) {
        gpu::Gpu gpu;
        gpu.index = i;
        gpu.uuid = {"GPU-" + std::to_string(i)};
        gpu.model = "NVIDIA A100-SXM4-40GB";
        gpu.memory_bytes = 40'960ULL << 20U;
        gpu.mig_capable = true;
        gpu.pci_device_id = 0x20B010DE;
        inventory.gpus.push_back(gpu);
    }
    return inventory;
}

Result<std::vector<mig::GpuSpec>> specs(const std::string& name,
                                        const std::optional<std::string>& text,
                                        const gpu::Inventory& inventory) {
    return mig_specs(name, text, "aliquot-mig-config", inventory,
                     mig::boards_of(os::Root("/nowhere"), inventory), mig::known_geometry);
}

TEST(MigSpecs, AreThoseOfTheFileBeforeTheWellKnownOnes) {
    const auto mine = specs("mine", kFile, two_a100());
    ASSERT_TRUE(mine);
    ASSERT_EQ(mine->size(), 1U);
    EXPECT_EQ(mine->front().index, 1U);
    EXPECT_EQ(mig::to_text(mine->front().spec), "3g.20gb*2");
    for (const std::optional<std::string>& text : {std::optional<std::string>(kFile), {}}) {
        const auto all = specs("all-1g.5gb", text, two_a100());
        ASSERT_TRUE(all);
        ASSERT_EQ(all->size(), 2U);
        EXPECT_EQ(mig::to_text(all->front().spec), "1g.5gb*7");
    }
}

TEST(MigSpecs, AreRefusedWithWhatThereIs) {
    EXPECT_THAT(specs("other", kFile, two_a100()).error().message,
                HasSubstr("aliquot-mig-config has mine; GPU 0 knows all-disabled"));
    EXPECT_THAT(specs("all-9g.9gb", {}, two_a100()).error().message,
                HasSubstr("there is no aliquot-mig-config"));
    EXPECT_THAT(specs("mine", "mig-configs: 7", two_a100()).error().message,
                HasSubstr("aliquot-mig-config:1:"));
    gpu::Inventory without = two_a100();
    for (gpu::Gpu& gpu : without.gpus) gpu.mig_capable = false;
    EXPECT_THAT(specs("all-1g.5gb", {}, without).error().message,
                HasSubstr("no GPU of this node has MIG"));
    EXPECT_TRUE(specs("all-disabled", {}, without));
}

TEST(PodsInTheWay, AreThoseOnBusyInstances) {
    gpu::Inventory inventory = two_a100();
    inventory.gpus[0].mig_enabled = true;
    inventory.gpus[0].mig_devices.resize(2);
    inventory.gpus[0].mig_devices[0].uuid = {"MIG-a"};
    inventory.gpus[0].mig_devices[1].uuid = {"MIG-b"};
    inventory.gpus[0].mig_devices[1].placement = {.start = 4, .size = 4};
    const std::vector<kubelet::Holder> holders{
        {.pod_namespace = "default", .pod = "a", .ids = {"MIG-a"}},
        {.pod_namespace = "default", .pod = "b", .ids = {"MIG-b::1"}},
        {.pod_namespace = "default", .pod = "c", .ids = {"GPU-1"}}};
    mig::ApplyReport report;
    report.gpus.push_back({.gpu = {"GPU-0"},
                           .state = mig::GpuReport::State::kRefused,
                           .refusal = mig::Refusal{.reason = "3g.20gb@4 is busy",
                                                   .blocking = {{.start = 4, .busy = true}}}});
    EXPECT_THAT(pods_in_the_way(report, inventory, holders), ElementsAre("default/b"));
    const auto by_claim = by_devices(std::vector<kubelet::Holder>{{.pod_namespace = "ai",
                                                                   .pod = "c",
                                                                   .resource = "gpu.aliquot.dev",
                                                                   .ids = {"u-0.all.MIG-b"}}});
    EXPECT_THAT(pods_in_the_way(report, inventory, *by_claim), ElementsAre("ai/c"));
    report.gpus[0].refusal->blocking.clear();
    EXPECT_THAT(pods_in_the_way(report, inventory, holders), ElementsAre("default/a", "default/b"));
    report.gpus[0].state = mig::GpuReport::State::kPlanned;
    EXPECT_THAT(pods_in_the_way(report, inventory, holders), IsEmpty());
}

TEST(HeldDevices, AreAlsoThoseOfClaims) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    const std::vector<kubelet::Holder> holders{
        {.resource = "nvidia.com/gpu", .ids = {"GPU-0::1"}},
        {.resource = "gpu.aliquot.dev", .ids = {"u-0.all.MIG-b"}, .claim = "train"}};
    const auto held = held_devices(root, {}, holders);
    ASSERT_TRUE(held) << held.error().message;
    EXPECT_THAT(*held, ElementsAre("GPU-0", "MIG-b"));
    // Of a claim that is prepared, and whose pod kubelet does not list.
    const dra::PreparedClaim claim{.claim = {"ai", "train", "u1"},
                                   .devices = {{.uuid = "GPU-7", .gpu = "GPU-7"}}};
    ASSERT_TRUE(root.write_atomically("/run/aliquot/dra/u1.claim", dra::to_text(claim)));
    EXPECT_THAT(*held_devices(root, {}, {}), ElementsAre("GPU-7"));
    ASSERT_TRUE(root.write_atomically("/run/aliquot/dra/u2.claim", "torn"));
    EXPECT_THAT(held_devices(root, {}, {}).error().message, HasSubstr("u2.claim"));
}

}  // namespace
}  // namespace aliquot::agent
