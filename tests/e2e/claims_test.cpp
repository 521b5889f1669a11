// SPDX-License-Identifier: Apache-2.0
//
// GPUs by ResourceClaims: the built agent publishes them in an API server, registers with kubelet, prepares claims
// that were allocated, and holds them to what was booked, over its own death.
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX

#include <algorithm>

#include "cdi/spec.h"
#include "guard_region/config_file.h"
#include "tests/e2e/claims_node.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST_F(Claims, ArePreparedAndHeldToWhatWasBooked) {
    start_agent({"--dra", "auto"});
    ASSERT_TRUE(is_ready());
    const auto offered = kubelet_->resources();
    EXPECT_TRUE(std::ranges::all_of(offered, [](const auto& one) {
        return one.second.capacity == 0;
    })) << "a node hands out its GPUs in one way";
    const Json device = devices().front();
    EXPECT_EQ(device["allowMultipleAllocations"], true);
    EXPECT_EQ(device["attributes"]["productName"]["string"], "NVIDIA A2");
    const std::string name = device["name"];

    const auto claim = allocate("share", name, "3Gi", "25");
    const auto prepared = kubelet_->prepare_claims("u-share", {claim});
    ASSERT_TRUE(prepared) << prepared.error().message;
    ASSERT_EQ(prepared->size(), 1U);
    EXPECT_EQ(prepared->front().device, name);
    const auto spec = cdi::parse(*root_.read(cdi_path(claim.uid)));
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ("k8s.gpu.aliquot.dev/claim=" + spec->devices.at(0).name,
              prepared->front().cdi_devices.at(0));
    const auto guard =
        std::ranges::find(spec->edits.mounts, "/run/aliquot/guard", &cdi::Mount::container_path);
    ASSERT_NE(guard, spec->edits.mounts.end()) << "its limits are the guard's to keep";
    const auto limits = guard_region::ConfigFile::open(root_.resolve(guard->host_path + "/config"),
                                                       guard_region::ConfigFile::Access::kRead);
    ASSERT_TRUE(limits) << limits.error().message;
    ASSERT_EQ(limits->settings().devices.size(), 1U);
    EXPECT_EQ(limits->settings().devices[0].memory_bytes, 3ULL << 30U);
    EXPECT_EQ(limits->settings().devices[0].cap_ppm, 250'000U);
    EXPECT_EQ(limits->settings().devices[0].uuid, device["attributes"]["uuid"]["string"]);

    const auto more = allocate("more", name, "14Gi", "10");
    const auto refused = kubelet_->prepare_claims("u-more", {more});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("would be given away"));

    // It dies, and what containers need is lost: a new one brings it back.
    ::kill(agent_->pid(), SIGKILL);
    agent_->terminate(60s);
    agent_.reset();
    ASSERT_TRUE(root_.remove(cdi_path(claim.uid)));
    start_agent({"--dra", "auto"});
    ASSERT_TRUE(soon([&] { return root_.exists(cdi_path(claim.uid)); }));
    ASSERT_TRUE(is_ready());
    ASSERT_TRUE(soon([&] { return kubelet_->unprepare_claims("u-share").ok(); }));
    EXPECT_FALSE(root_.exists(cdi_path(claim.uid)));
    ASSERT_TRUE(soon([&] { return kubelet_->prepare_claims("u-more", {more}).ok(); }));
}

TEST_F(Claims, AreTheSameAfterRestartsInBothOrders) {
    start_agent({"--dra", "consumable"});
    ASSERT_TRUE(is_ready());
    const std::string name = devices().front()["name"];
    const std::vector claims{allocate("one", name, "3Gi", "25"),
                             allocate("other", name, "3Gi", "25")};
    const auto both = kubelet_->prepare_claims("u-both", claims);
    ASSERT_TRUE(both) << both.error().message;
    ASSERT_EQ(both->size(), 2U) << "two claims of one pod on one GPU";
    EXPECT_NE(both->at(0).cdi_devices, both->at(1).cdi_devices);
    for (const bool agent_first : {true, false}) {
        SCOPED_TRACE(agent_first);
        ::kill(agent_->pid(), SIGKILL);
        agent_->terminate(60s);
        for (const auto& claim : claims) ASSERT_TRUE(root_.remove(cdi_path(claim.uid)));
        if (agent_first) start_agent({"--dra", "consumable"});
        ASSERT_TRUE(kubelet_->restart());
        if (!agent_first) start_agent({"--dra", "consumable"});
        ASSERT_TRUE(soon([&] { return root_.exists(cdi_path(claims.back().uid)); }));
        ASSERT_TRUE(is_ready());
        const auto again = kubelet_->prepare_claims("u-both", claims);
        ASSERT_TRUE(again) << again.error().message;
        for (std::size_t i = 0; i < claims.size(); ++i) {
            EXPECT_EQ(again->at(i).cdi_devices, both->at(i).cdi_devices);
        }
    }
    ASSERT_TRUE(kubelet_->unprepare_claims("u-both").ok());
    for (const auto& claim : claims) EXPECT_FALSE(root_.exists(cdi_path(claim.uid)));
}

TEST_F(Claims, OutliveAGpuThatFallsOffTheBus) {
    start_agent({"--dra", "consumable"});
    ASSERT_TRUE(is_ready());
    const std::string lost = devices().at(0)["name"];
    const std::string well = devices().at(1)["name"];
    const auto taints = [&](unsigned at) { return devices().at(at).value("taints", Json()); };
    const auto one = allocate("one", lost, "3Gi", "25");
    const auto other = allocate("other", well, "3Gi", "25");
    ASSERT_TRUE(kubelet_->prepare_claims("u-one", {one}));
    ASSERT_TRUE(kubelet_->prepare_claims("u-other", {other}));
    const std::string file = *root_.read(cdi_path(other.uid));
    ASSERT_TRUE(gpus_->inject(0, sim::FaultKind::kXid, 79));
    ASSERT_TRUE(soon([&] { return !taints(0).empty(); })) << agent_log();
    EXPECT_EQ(taints(0)[0]["key"], "gpu.aliquot.dev/unhealthy");
    EXPECT_EQ(taints(0)[0]["effect"], "NoSchedule");
    EXPECT_TRUE(taints(1).empty());
    EXPECT_EQ(*root_.read(cdi_path(other.uid)), file) << "the other claim is as it was";
    ASSERT_TRUE(kubelet_->prepare_claims("u-more", {allocate("more", well, "3Gi", "25")}));

    // A new agent does not see the lost GPU at all.
    ::kill(agent_->pid(), SIGKILL);
    agent_->terminate(60s);
    start_agent({"--dra", "consumable"});
    ASSERT_TRUE(soon([&] { return kubelet_->unprepare_claims("u-one").ok(); })) << agent_log();
    EXPECT_FALSE(root_.exists(cdi_path(one.uid)));
    EXPECT_TRUE(root_.exists(cdi_path(other.uid)));

    ASSERT_TRUE(gpus_->inject(0, sim::FaultKind::kClear, 0));
    ASSERT_TRUE(is_ready()) << agent_log();
    ASSERT_TRUE(soon([&] { return taints(0).empty(); })) << agent_log();
    ASSERT_TRUE(soon([&] {
        return kubelet_->prepare_claims("u-again", {allocate("again", lost, "12Gi", "90")}).ok();
    })) << "nothing of the lost claim is counted any more";
    ASSERT_TRUE(kubelet_->unprepare_claims("u-other").ok());
}

TEST_F(Claims, LeaveTheGpuTheyHoldAwayFromTheDevicePlugin) {
    start_agent({"--dra", "consumable"});
    ASSERT_TRUE(is_ready());
    const auto claim = allocate("share", devices().front()["name"], "3Gi", "25");
    ASSERT_TRUE(kubelet_->prepare_claims("u-share", {claim}));
    agent_->terminate(60s);
    agent_.reset();
    start_agent();
    ASSERT_TRUE(soon([&] {
        const auto resources = kubelet_->resources();
        const auto found = resources.find(kGpu);
        return found != resources.end() && found->second.allocatable == 1;
    }));
    ASSERT_TRUE(soon([&] { return devices().empty(); }));
    ASSERT_TRUE(soon([&] { return kubelet_->unprepare_claims("u-share").ok(); }));
    EXPECT_TRUE(offers(kGpu, 2));
}

class ClaimsWithoutGates : public Claims {
protected:
    [[nodiscard]] std::set<std::string> disabled_features() const override {
        return {"DRAConsumableCapacity", "DRAPartitionableDevices"};
    }
};

TEST_F(ClaimsWithoutGates, TheNodeSaysWhyNothingIsPublished) {
    for (const char* const mode : {"consumable", "dynamic-mig"}) {
        start_agent({"--dra", mode});
        EXPECT_TRUE(soon([&] {
            return condition("GpuConfigServed")["reason"] == "DraModeRefused" &&
                   has_event("DraModeRefused");
        })) << mode
            << "\n"
            << agent_log();
        EXPECT_TRUE(devices().empty());
        label("aliquot.dev/dra", "fixed");
        EXPECT_TRUE(soon([&] {
            return !devices().empty() && condition("GpuConfigServed")["status"] == "True";
        })) << mode
            << "\n"
            << agent_log();
        agent_->terminate(60s);
        agent_.reset();
        label("aliquot.dev/dra", nullptr);
    }
}

TEST_F(Claims, WaitForWhatPodsHoldByTheDevicePlugin) {
    start_agent();
    ASSERT_TRUE(offers(kGpu, 2));
    const auto admitted = admit("old", kGpu);
    ASSERT_TRUE(admitted) << admitted.error().message;
    const std::string held = admitted->front().grant.environment.at("NVIDIA_VISIBLE_DEVICES");
    agent_->terminate(60s);
    agent_.reset();
    start_agent({"--dra", "whole"});
    ASSERT_TRUE(soon([&] { return devices().size() == 1; }));
    EXPECT_NE(devices().front()["attributes"]["uuid"]["string"], held);
    kubelet_->remove("old");
    EXPECT_TRUE(soon([&] { return devices().size() == 2; }));
    EXPECT_TRUE(soon([&] { return kubelet_->resources()[kGpu].capacity == 0; }));
}

TEST_F(Claims, AreServedByTheNodesLabelAndBack) {
    start_agent({"--dra", "by-label"});
    ASSERT_TRUE(offers(kGpu, 2));
    EXPECT_TRUE(devices().empty());
    label("aliquot.dev/dra", "auto");
    ASSERT_TRUE(is_ready()) << agent_log();
    EXPECT_TRUE(soon([&] { return kubelet_->resources()[kGpu].capacity == 0; }));
    const auto claim = allocate("share", devices().front()["name"], "3Gi", "25");
    ASSERT_TRUE(soon([&] { return kubelet_->prepare_claims("u-share", {claim}).ok(); }));

    label("aliquot.dev/dra", "atuo");
    EXPECT_TRUE(soon([&] {
        return condition("GpuConfigServed")["reason"] == "DraLabelRefused" &&
               has_event("DraLabelRefused");
    }));
    EXPECT_EQ(devices().size(), 2U) << "a wrong label changes nothing";

    label("aliquot.dev/dra", nullptr);
    ASSERT_TRUE(soon([&] { return devices().empty(); })) << agent_log();
    ASSERT_TRUE(soon([&] { return kubelet_->resources()[kGpu].allocatable == 1; }));
    const auto more = allocate("more", "gpu-0000-00-00-0", "3Gi", "25");
    const auto refused = kubelet_->prepare_claims("u-more", {more});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("claims are not served on this node"));
    ASSERT_TRUE(soon([&] { return kubelet_->unprepare_claims("u-share").ok(); }));
    EXPECT_TRUE(offers(kGpu, 2));
    EXPECT_TRUE(condition("GpuConfigServed")["status"] == "True");
}

TEST_F(Claims, AreNotServedByLabelWhereTheAgentHasNoRights) {
    start_agent();
    ASSERT_TRUE(offers(kGpu, 2));
    label("aliquot.dev/dra", "auto");
    EXPECT_TRUE(soon([&] {
        return condition("GpuConfigServed")["message"].get<std::string>().contains(
            "aliquot install --dra by-label");
    }));
    EXPECT_TRUE(offers(kGpu, 2));
}

TEST_F(ClaimsOfA100, KeepTheirGpuFromBeingCut) {
    const auto state = [&] {
        return node()["metadata"]["labels"].value("nvidia.com/mig.config.state", "");
    };
    start_agent({"--dra", "consumable", "--mig"});
    ASSERT_TRUE(is_ready());
    const auto claim = allocate("share", devices().front()["name"], "3Gi", "25");
    // No container runs: kubelet does not list the pod yet.
    ASSERT_TRUE(soon([&] { return kubelet_->prepare_claims("u-share", {claim}).ok(); }));
    label("nvidia.com/mig.config", "all-1g.5gb");
    ASSERT_TRUE(soon([&] { return state() == "failed"; })) << agent_log();
    EXPECT_THAT(annotation("aliquot.dev/mig.config.problem"), HasSubstr("a pod holds the GPU"));
    EXPECT_EQ(devices().size(), 2U) << "nothing is touched";
    ASSERT_TRUE(soon([&] { return kubelet_->unprepare_claims("u-share").ok(); }));
    label("nvidia.com/mig.config", "all-3g.20gb");
    ASSERT_TRUE(soon([&] { return state() == "success"; })) << agent_log();
    EXPECT_TRUE(soon([&] {
        return devices().size() == 4U &&
               devices().front()["attributes"]["profile"]["string"] == "3g.20gb";
    }));
}

TEST_F(DynamicMig, MakesDevicesWhenTheyArePreparedAndTakesThemBack) {
    start_agent({"--dra", "dynamic-mig"});
    ASSERT_TRUE(is_cuttable()) << agent_log();
    unsigned sets = 0;
    const Json list = ask("GET", kSlices);
    for (const Json& slice : list["items"]) {
        sets += static_cast<unsigned>(slice["spec"].value("sharedCounters", Json::array()).size());
    }
    EXPECT_EQ(sets, 3U) << "of each, and one of both: NVLink joins them";
    std::string half;
    std::string small;
    std::string whole;
    for (const Json& device : devices()) {
        const std::string name = device["name"];
        if (half.empty() && name.ends_with("-mig-3g-20gb-4")) half = name;
    }
    ASSERT_FALSE(half.empty());
    whole = half.substr(0, half.find("-mig-"));
    small = whole + "-mig-1g-5gb-0";
    EXPECT_EQ(published(half)["attributes"]["profile"]["string"], "3g.20gb");
    EXPECT_EQ(published(half)["attributes"].count("uuid"), 0U);
    EXPECT_EQ(published(whole)["allowMultipleAllocations"], true);

    const auto claim = allocate_all("half", half);
    const auto prepared = kubelet_->prepare_claims("u-half", {claim});
    ASSERT_TRUE(prepared) << prepared.error().message << agent_log();
    EXPECT_THAT(prepared->front().cdi_devices.at(0), HasSubstr(".all.MIG-"));
    EXPECT_EQ(cut(0), "3g.20gb");
    const auto spec = cdi::parse(*root_.read(cdi_path(claim.uid)));
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->devices.at(0).edits.device_nodes.size(), 3U)
        << "the GPU's and two capabilities";

    ASSERT_TRUE(kubelet_->prepare_claims("u-small", {allocate_all("small", small)}));
    const auto refused =
        kubelet_->prepare_claims("u-whole", {allocate("whole", whole, "3Gi", "25")});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("is held"));

    ::kill(agent_->pid(), SIGKILL);
    agent_->terminate(60s);
    agent_.reset();
    ASSERT_TRUE(root_.remove(cdi_path(claim.uid)));
    start_agent({"--dra", "dynamic-mig"});
    ASSERT_TRUE(soon([&] { return root_.exists(cdi_path(claim.uid)); })) << agent_log();
    // The other one is reset with the first, and so has got the same mode: counters tell what goes together.
    ASSERT_TRUE(soon([&] { return gpus_->gpus().at(1).mig_enabled; }));
    EXPECT_EQ(devices().size(), 52U);
    ASSERT_TRUE(soon([&] { return kubelet_->unprepare_claims("u-half").ok(); }));
    EXPECT_EQ(cut(0), "1g.5gb");
    ASSERT_TRUE(soon([&] { return kubelet_->unprepare_claims("u-small").ok(); }));
    EXPECT_EQ(cut(0), "");
    EXPECT_TRUE(soon([&] {
        return kubelet_->prepare_claims("u-whole", {allocate("again", whole, "3Gi", "25")}).ok();
    })) << agent_log();
}

TEST_F(DynamicMig, EndsWithTheGpuThatFallsOffTheBus) {
    start_agent({"--dra", "dynamic-mig"});
    ASSERT_TRUE(is_cuttable()) << agent_log();
    const std::string half = devices().front()["name"].get<std::string>() + "-mig-3g-20gb-4";
    ASSERT_FALSE(published(half).is_null()) << half;
    const auto claim = allocate_all("half", half);
    ASSERT_TRUE(kubelet_->prepare_claims("u-half", {claim})) << agent_log();
    ASSERT_TRUE(gpus_->inject(0, sim::FaultKind::kXid, 79));
    ASSERT_TRUE(soon([&] { return published(half).contains("taints"); })) << agent_log();
    const auto ended = kubelet_->unprepare_claims("u-half");
    ASSERT_TRUE(ended) << ended.error().message << agent_log();
    EXPECT_FALSE(root_.exists(cdi_path(claim.uid)));
    ASSERT_TRUE(gpus_->inject(0, sim::FaultKind::kClear, 0));
    ASSERT_TRUE(soon([&] { return !published(half).contains("taints"); })) << agent_log();
    ASSERT_TRUE(soon([&] {
        return kubelet_->prepare_claims("u-new", {allocate_all("new", half)}).ok();
    })) << agent_log();
    EXPECT_EQ(cut(0), "3g.20gb");
}

TEST_F(DynamicMig, IsTheOnlyOneThatCuts) {
    start_agent({"--dra", "dynamic-mig", "--mig"});
    ASSERT_TRUE(is_cuttable()) << agent_log();
    label("nvidia.com/mig.config", "all-1g.5gb");
    ASSERT_TRUE(soon([&] {
        return node()["metadata"]["labels"].value("nvidia.com/mig.config.state", "") == "failed";
    }));
    EXPECT_THAT(annotation("aliquot.dev/mig.config.problem"),
                HasSubstr("claims cut the GPUs of this node"));
    EXPECT_EQ(cut(0), "");
}

}  // namespace
}  // namespace aliquot
