// SPDX-License-Identifier: Apache-2.0
#include "gpu/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aliquot::gpu {
namespace {

TEST(GpuJson, TellsWhatIsWrongSinceWhenAndWhatToDo) {
    Gpu gpu{.index = 3, .uuid = {"GPU-a"}, .model = "NVIDIA A2"};
    gpu.health = {Health::State::kUnhealthy, "Xid 79: gone", "restart",
                  Moment{} + std::chrono::hours(24)};
    const auto json = to_json(gpu, std::vector<SeenXid>{{.xid = 79, .at = gpu.health.since}});
    EXPECT_EQ(json["health"], "Unhealthy");
    EXPECT_EQ(json["reason"], "Xid 79: gone");
    EXPECT_EQ(json["since"], "1970-01-02T00:00:00Z");
    EXPECT_EQ(json["advice"], "restart");
    EXPECT_EQ(json["mig"], "unsupported");
    EXPECT_EQ(json["xids"][0]["xid"], 79);
}

TEST(GpuJson, SinceIsNullWhereItIsNotKnown) {
    const auto json = to_json(Gpu{.mig_capable = true, .mig_pending = true}, {});
    EXPECT_TRUE(json["since"].is_null());
    EXPECT_EQ(json["mig"], "off, on after a reset");
    EXPECT_TRUE(json["migDevices"].empty());
}

TEST(GpuJson, ShowsMigDevicesWithTheirOwnHealth) {
    Gpu gpu{.mig_capable = true, .mig_enabled = true};
    gpu.mig_devices.push_back({.uuid = {"MIG-1"},
                               .profile = "3g.20gb",
                               .gpu_instance = 2,
                               .placement = {4, 4},
                               .health = {Health::State::kUnhealthy, "Xid 95"}});
    const auto json = to_json(gpu, {});
    EXPECT_EQ(json["migDevices"][0]["profile"], "3g.20gb");
    EXPECT_EQ(json["migDevices"][0]["start"], 4);
    EXPECT_EQ(json["migDevices"][0]["health"], "Unhealthy");
    EXPECT_EQ(json["health"], "Healthy");
}

}  // namespace
}  // namespace aliquot::gpu
