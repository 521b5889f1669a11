// SPDX-License-Identifier: Apache-2.0
#include "agent/held_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::agent {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

gpu::Inventory node_with(const std::vector<std::string>& devices) {
    gpu::Gpu gpu{.uuid = {"GPU-a"}, .mig_capable = true, .mig_enabled = true};
    for (const std::string& name : devices) {
        gpu.mig_devices.push_back({.uuid = {name},
                                   .index = static_cast<unsigned>(gpu.mig_devices.size()),
                                   .profile = "1g.5gb"});
    }
    gpu::Inventory inventory;
    inventory.gpus.push_back(std::move(gpu));
    return inventory;
}

class HeldDevicesTest : public testing::Test {
protected:
    HeldDevicesTest() {
        config_.flags.mig_strategy = sharing::MigStrategy::kMixed;
        config_.sharing.mechanism = grant::Mechanism::kTimeSlicing;
        config_.sharing.resources = {{.name = "nvidia.com/mig-1g.5gb", .replicas = 2}};
    }

    /// Device ids with their health, after the node was seen with these devices.
    std::vector<std::pair<std::string, bool>> see(const std::vector<std::string>& devices) {
        const auto inventory = node_with(devices);
        auto offer = sharing::make_offer(config_, inventory);
        if (!offer) throw std::runtime_error(offer.error().message);
        held_.amend(*offer, inventory);
        remarks_ = offer->remarks;
        std::vector<std::pair<std::string, bool>> result;
        for (const auto& resource : offer->resources) {
            for (const auto& device : resource.devices()) {
                result.emplace_back(device.id, device.healthy);
            }
        }
        return result;
    }
    void hold(const std::string& id) {
        holders_ = std::vector<kubelet::Holder>{
            {"default", "trainer", "main", "nvidia.com/mig-1g.5gb", {id}}};
    }

    os::ManualClock clock_;
    sharing::Config config_;
    Result<std::vector<kubelet::Holder>> holders_{std::vector<kubelet::Holder>{}};
    std::string just_granted_;
    int questions_ = 0;
    std::vector<std::string> remarks_;
    HeldDevices held_{
        clock_,
        {.list =
             [this] {
                 ++questions_;
                 return holders_;
             },
         .just_granted = [this](const gpu::Uuid& device) { return device.text == just_granted_; }},
        {}};
};

TEST_F(HeldDevicesTest, ADeviceThatNobodyHoldsGoesAtOnce) {
    see({"MIG-a", "MIG-b"});
    EXPECT_EQ(questions_, 0);
    EXPECT_THAT(see({"MIG-a"}), ElementsAre(Pair("MIG-a::0", true), Pair("MIG-a::1", true)));
    EXPECT_FALSE(held_.any());
}

TEST_F(HeldDevicesTest, AHeldOneStaysUnhealthyUntilItsPodEnds) {
    see({"MIG-a", "MIG-b"});
    hold("MIG-b::1");
    for (int i = 0; i < 3; ++i) {
        EXPECT_THAT(see({"MIG-a"}), ElementsAre(Pair("MIG-a::0", true), Pair("MIG-a::1", true),
                                                Pair("MIG-b::0", false), Pair("MIG-b::1", false)));
        EXPECT_THAT(remarks_, ElementsAre(HasSubstr("while pod default/trainer holds it")));
        clock_.advance(3s);
    }
    EXPECT_THAT(see({}), ElementsAre(Pair("MIG-b::0", false), Pair("MIG-b::1", false)));
    holders_ = std::vector<kubelet::Holder>{};
    clock_.advance(3s);
    EXPECT_THAT(see({}), IsEmpty());
    EXPECT_FALSE(held_.any());
}

TEST_F(HeldDevicesTest, OneThatIsMadeAnewIsHealthy) {
    see({"MIG-a"});
    hold("MIG-a::0");
    see({});
    EXPECT_THAT(see({"MIG-a"}), ElementsAre(Pair("MIG-a::0", true), Pair("MIG-a::1", true)));
    EXPECT_FALSE(held_.any());
}

TEST_F(HeldDevicesTest, AGrantThatKubeletDoesNotListYetCounts) {
    see({"MIG-a"});
    just_granted_ = "MIG-a";
    EXPECT_THAT(see({}), ElementsAre(Pair("MIG-a::0", false), Pair("MIG-a::1", false)));
    just_granted_.clear();
    clock_.advance(3s);
    EXPECT_THAT(see({}), IsEmpty());
}

TEST_F(HeldDevicesTest, KubeletIsAskedSeldomAndItsSilenceHasAnEnd) {
    see({"MIG-a"});
    holders_ = Error{ErrorCode::kUnavailable, "no kubelet"};
    see({});
    see({});
    EXPECT_EQ(questions_, 1);
    clock_.advance(3s);
    EXPECT_THAT(see({}), testing::SizeIs(2));
    EXPECT_EQ(questions_, 2);
    clock_.advance(600s);
    EXPECT_THAT(see({}), IsEmpty());
}

}  // namespace
}  // namespace aliquot::agent
