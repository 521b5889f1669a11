// SPDX-License-Identifier: Apache-2.0
#include "cli/host/gpu_holders.h"

#include <gmock/gmock.h>

namespace aliquot::cli {
namespace {

using Uuids = std::set<std::string>;
using Claims = std::vector<pods::ClaimHold>;

gpu::Inventory node() {
    gpu::Inventory made;
    for (const char* uuid : {"GPU-0", "GPU-1", "GPU-2"}) {
        gpu::Gpu gpu;
        gpu.uuid = {uuid};
        made.gpus.push_back(gpu);
    }
    gpu::MigDevice part;
    part.uuid = {"MIG-2a"};
    made.gpus[2].mig_devices.push_back(part);
    return made;
}

TEST(GpuHolders, AreThoseOfDevicePluginsAndOfClaims) {
    const pods::DeviceHolds holds{.list = {{.resource = "nvidia.com/gpu.shared", .id = "GPU-0::3"},
                                           {.resource = "example.com/nic", .id = "eth0"},
                                           {.resource = "net.example", .id = "eth1"}}};
    EXPECT_EQ(holders_of(node(), holds, Claims{}).uuids, Uuids{"GPU-0"});
    const auto part = holders_of(
        node(), {},
        Claims{{.claim = "ai/a", .driver = "gpu.aliquot.dev", .ids = {"u1-0.all.MIG-2a"}},
               {.claim = "ai/n", .driver = "net.example", .ids = {"u2-eth"}},
               {.claim = "ai/b", .driver = "gpu.aliquot.dev", .ids = {"u3-1.part.GPU-1"}},
               {.claim = "ai/w", .driver = "gpu.aliquot.dev", .ids = {}}});
    EXPECT_EQ(part.uuids, (Uuids{"GPU-1", "GPU-2"}));
    EXPECT_EQ(part.problem, "");
}

TEST(GpuHolders, AClaimThatKubeletListsIsMapped) {
    const pods::DeviceHolds holds{
        .list = {{.resource = "gpu.aliquot.dev", .id = "u1-0.all.GPU-1"}}};
    EXPECT_EQ(holders_of(node(), holds, Claims{}).uuids, Uuids{"GPU-1"});
}

TEST(GpuHolders, MayBeAnyWhereNobodyCanSay) {
    const Uuids all{"GPU-0", "GPU-1", "GPU-2"};
    for (const auto& [driver, id] :
         std::vector<std::pair<std::string, std::string>>{{"gpu.aliquot.dev", "u1-0.all.GPU-gone"},
                                                          {"gpu.aliquot.dev", "another form"},
                                                          {"gpu.nvidia.com", "u1-gpu-0"}}) {
        const auto unknown =
            holders_of(node(), {}, Claims{{.claim = "ai/a", .driver = driver, .ids = {id}}});
        EXPECT_EQ(unknown.uuids, all) << id;
        EXPECT_THAT(unknown.problem, testing::HasSubstr("ai/a")) << id;
        const pods::DeviceHolds listed{.list = {{.resource = driver, .id = id, .pod = "ai/p"}}};
        EXPECT_EQ(holders_of(node(), listed, Claims{}).uuids, all) << id;
    }
    EXPECT_EQ(holders_of(node(), {}, Error{ErrorCode::kInvalidInput, "torn"}).uuids, all);
    EXPECT_EQ(holders_of(node(), {.problem = "no kubelet"}, Claims{}).uuids, all);
}

}  // namespace
}  // namespace aliquot::cli
