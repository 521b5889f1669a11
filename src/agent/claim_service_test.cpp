// SPDX-License-Identifier: Apache-2.0
#include "agent/claim_service.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "agent/region_holder.h"
#include "os/temporary_directory.h"

namespace aliquot::agent {
namespace {

TEST(ClaimService, HidesWhatClaimsHoldFromTheDevicePlugin) {
    gpu::Inventory inventory;
    inventory.gpus = {{.uuid = {"GPU-a"}}, {.uuid = {"GPU-b"}}};
    const auto seen = without_claimed(inventory, {{{"GPU-a"}, "ai/train"}});
    EXPECT_FALSE(seen.gpus[0].health.ok());
    EXPECT_EQ(seen.gpus[0].health.reason, "ResourceClaim ai/train holds it");
    EXPECT_TRUE(seen.gpus[1].health.ok());
}

TEST(ClaimService, HidesAGpuOfWhichAClaimHoldsAMigDevice) {
    gpu::Inventory inventory;
    inventory.gpus = {{.uuid = {"GPU-a"}, .mig_devices = {{.uuid = {"MIG-b"}}}}};
    const auto seen = without_claimed(inventory, {{{"MIG-b"}, "with uid 8f2c"}});
    EXPECT_EQ(seen.gpus[0].health.reason, "ResourceClaim with uid 8f2c holds it");
}

TEST(HeldByClaims, StaysWhileNobodyCanTell) {
    const auto unknown = [] {
        return Result<HeldByClaims::Gpus>(Error{ErrorCode::kUnavailable, "a note is torn"});
    };
    HeldByClaims held;
    EXPECT_FALSE(held.look(unknown())) << "nothing may be offered";
    const HeldByClaims::Gpus some{{{"GPU-a"}, "ai/train"}};
    EXPECT_EQ(held.look(some), some);
    EXPECT_EQ(held.look(unknown()), some) << "what was held is not free because of that";
    EXPECT_EQ(held.look(HeldByClaims::Gpus{}), HeldByClaims::Gpus{});
    EXPECT_EQ(held.look(unknown()), HeldByClaims::Gpus{});
}

TEST(ClaimService, LooksForClaimsAnewWhereItCannotTell) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    EXPECT_FALSE(ClaimService::has_left(root));
    ASSERT_TRUE(root.write_atomically("/run/aliquot/dra/serialize.lock", ""));
    EXPECT_FALSE(ClaimService::has_left(root));
    ASSERT_TRUE(root.write_atomically("/run/aliquot/dra/8f2c.claim.bad", ""));
    EXPECT_TRUE(ClaimService::has_left(root));
    const auto notes = root.resolve("/run/aliquot/dra");
    std::filesystem::remove_all(notes);
    std::filesystem::create_symlink(notes, notes);  // cannot be listed
    EXPECT_TRUE(ClaimService::has_left(root));
}

TEST(ClaimService, KnowsTheDevicesOfAnOffer) {
    const sharing::Offer offer{
        .resources = {
            {.gpus = {{.gpu = {.uuid = {"GPU-a"}}},
                      {.gpu = {.uuid = {"GPU-b"}}, .mig = gpu::MigDevice{.uuid = {"MIG-c"}}}}}}};
    EXPECT_EQ(devices_in(offer), (std::set<gpu::Uuid>{{"GPU-a"}, {"MIG-c"}}));
}

TEST(ClaimService, TellsWhatClaimsHoldAsDevices) {
    const std::vector<kubelet::Holder> holders{
        {.resource = "gpu.aliquot.dev", .ids = {"u-0.part.GPU-a", "u-1.all.MIG-b"}},
        {.resource = "other.example", .ids = {"u-0.part.GPU-a"}},
        {.resource = "nvidia.com/gpu", .ids = {"GPU-a::1"}}};
    const auto told = by_devices(holders);
    EXPECT_EQ((*told)[0].ids, (std::vector<std::string>{"GPU-a::0", "MIG-b"}));
    EXPECT_EQ((*told)[1].ids, holders[1].ids);
    EXPECT_EQ((*told)[2].ids, holders[2].ids);
    const guard_region::Record claim{.resource = "gpu.aliquot.dev", .device_ids = {"u-0", "u-1"}};
    EXPECT_TRUE(holds({"u-1"}, claim));
    EXPECT_FALSE(holds({"u-2"}, claim));
    EXPECT_FALSE(
        holds({"GPU-a"}, {.resource = "nvidia.com/gpu", .device_ids = {"GPU-a", "GPU-b"}}));
}

}  // namespace
}  // namespace aliquot::agent
