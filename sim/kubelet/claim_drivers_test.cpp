// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "api/kubelet/dra.grpc.pb.h"
#include "api/kubelet/pluginregistration.grpc.pb.h"
#include "os/root.h"
#include "os/temporary_directory.h"
#include "pods/claim_state.h"
#include "sim/kubelet/kubelet.h"

namespace aliquot::sim {
namespace {

namespace dra = ::k8s::io::kubelet::pkg::apis::dra::v1;
using namespace std::chrono_literals;

/// A DRA driver of a few lines: every claim gets one device with one CDI id.
class SmallDriver final : public dra::DRAPlugin::Service,
                          public pluginregistration::Registration::Service {
public:
    SmallDriver(const os::Root& root, std::string versions) : versions_(std::move(versions)) {
        const std::string directory = "/var/lib/kubelet/plugins_registry";
        EXPECT_TRUE(root.make_directories(directory));
        const std::string socket = root.resolve(directory + "/small-reg.sock").string();
        grpc::ServerBuilder builder;
        builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
        builder.RegisterService(static_cast<dra::DRAPlugin::Service*>(this));
        builder.RegisterService(static_cast<pluginregistration::Registration::Service*>(this));
        server_ = builder.BuildAndStart();
    }

    grpc::Status GetInfo(grpc::ServerContext*, const pluginregistration::InfoRequest*,
                         pluginregistration::PluginInfo* info) override {
        info->set_type("DRAPlugin");
        info->set_name("small.example.com");
        info->add_supported_versions(versions_);
        return grpc::Status::OK;
    }
    grpc::Status NotifyRegistrationStatus(
        grpc::ServerContext*, const pluginregistration::RegistrationStatus* status,
        pluginregistration::RegistrationStatusResponse*) override {
        registered = status->plugin_registered();
        const std::lock_guard lock(guard_);
        problem_ = status->error();
        return grpc::Status::OK;
    }
    grpc::Status NodePrepareResources(grpc::ServerContext*,
                                      const dra::NodePrepareResourcesRequest* request,
                                      dra::NodePrepareResourcesResponse* answer) override {
        ++prepares;
        for (const auto& claim : request->claims()) {
            if (claim.name() == "skipped") continue;
            auto& one = (*answer->mutable_claims())[claim.uid()];
            if (claim.name() == "refused") {
                one.set_error("device gpu-0 is held by another claim");
                continue;
            }
            auto* const device = one.add_devices();
            device->add_request_names("gpu");
            device->set_pool_name("n1");
            device->set_device_name("gpu-0");
            device->set_share_id("share-1");
            device->add_cdi_device_ids("example.com/claim=" + claim.uid() + "-0");
        }
        return grpc::Status::OK;
    }
    grpc::Status NodeUnprepareResources(grpc::ServerContext*,
                                        const dra::NodeUnprepareResourcesRequest* request,
                                        dra::NodeUnprepareResourcesResponse* answer) override {
        ++unprepares;
        for (const auto& claim : request->claims()) (*answer->mutable_claims())[claim.uid()];
        return grpc::Status::OK;
    }
    std::string problem() {
        const std::lock_guard lock(guard_);
        return problem_;
    }

    std::atomic<bool> registered = false;
    std::atomic<int> prepares = 0;
    std::atomic<int> unprepares = 0;

private:
    std::string versions_;
    std::mutex guard_;
    std::string problem_;
    std::unique_ptr<grpc::Server> server_;
};

class ClaimDriversTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(kubelet.start()); }
    bool wait_for_driver() {
        for (int i = 0; i < 500 && kubelet.claim_drivers().empty(); ++i)
            std::this_thread::sleep_for(10ms);
        return !kubelet.claim_drivers().empty();
    }
    static ClaimReference claim(const std::string& name) {
        return {"default", name, "uid-" + name, {"small.example.com"}};
    }

    os::TemporaryDirectory directory;
    os::Root root{directory.path()};
    Kubelet kubelet{root, {.reconcile_interval = 20ms}};
};

TEST_F(ClaimDriversTest, APodsClaimsArePreparedOnceAndUnpreparedAfterItsLastPod) {
    SmallDriver driver(root, "v1.DRAPlugin");
    ASSERT_TRUE(wait_for_driver());
    const auto devices = kubelet.prepare_claims("pod-1", {claim("a"), claim("b")});
    ASSERT_TRUE(devices) << devices.error().message;
    ASSERT_EQ(devices->size(), 2U);
    EXPECT_EQ((*devices)[0].cdi_devices, std::vector<std::string>{"example.com/claim=uid-a-0"});
    EXPECT_EQ((*devices)[0].requests, std::vector<std::string>{"gpu"});
    EXPECT_EQ((*devices)[0].share, "share-1");
    EXPECT_EQ(driver.prepares, 1);

    ASSERT_TRUE(kubelet.prepare_claims("pod-2", {claim("a")}));
    EXPECT_EQ(driver.prepares, 1);
    ASSERT_TRUE(kubelet.unprepare_claims("pod-1"));
    EXPECT_EQ(driver.unprepares, 1);  // b; a has pod-2
    ASSERT_TRUE(kubelet.unprepare_claims("pod-2"));
    EXPECT_EQ(driver.unprepares, 2);
}

TEST_F(ClaimDriversTest, AfterARestartOfKubeletTheDriverIsAskedAgain) {
    SmallDriver driver(root, "v1.DRAPlugin");
    ASSERT_TRUE(wait_for_driver());
    ASSERT_TRUE(kubelet.prepare_claims("pod-1", {claim("a")}));
    ASSERT_TRUE(kubelet.restart());
    ASSERT_TRUE(wait_for_driver());
    ASSERT_TRUE(kubelet.prepare_claims("pod-1", {claim("a")}));
    EXPECT_EQ(driver.prepares, 2);
}

TEST_F(ClaimDriversTest, WhatIsHeldIsWrittenDownAndSurvivesKubelet) {
    const auto holds = [&] {
        const auto read = pods::read_claim_state(root);
        EXPECT_TRUE(read) << read.error().message;
        return read ? *read : std::vector<pods::ClaimHold>();
    };
    EXPECT_FALSE(kubelet.prepare_claims("pod-1", {claim("a")})) << "no driver yet";
    const pods::ClaimHold begun{.claim = "default/a", .driver = "small.example.com", .ids = {}};
    EXPECT_EQ(holds(), std::vector{begun}) << "before the driver is called";
    SmallDriver driver(root, "v1.DRAPlugin");
    ASSERT_TRUE(wait_for_driver());
    ASSERT_TRUE(kubelet.prepare_claims("pod-1", {claim("a")}));
    const pods::ClaimHold held{
        .claim = "default/a", .driver = "small.example.com", .ids = {"uid-a-0"}};
    EXPECT_EQ(holds(), std::vector{held});
    kubelet.kill();
    EXPECT_EQ(holds(), std::vector{held});
    Kubelet next(root, {.reconcile_interval = 20ms});
    ASSERT_TRUE(next.start());
    for (int i = 0; i < 500 && next.claim_drivers().empty(); ++i) std::this_thread::sleep_for(10ms);
    ASSERT_TRUE(next.unprepare_claims("pod-1"));
    EXPECT_EQ(driver.unprepares, 1);
    EXPECT_TRUE(holds().empty());
    next.stop();
    ASSERT_TRUE(root.write_atomically(pods::kClaimState, "torn"));
    EXPECT_FALSE(next.start());
}

TEST_F(ClaimDriversTest, ErrorsHaveKubeletsWords) {
    const auto early = kubelet.prepare_claims("pod-1", {claim("a")});
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().message, "DRA driver small.example.com is not registered");
    SmallDriver driver(root, "v1.DRAPlugin");
    ASSERT_TRUE(wait_for_driver());
    const auto refused = kubelet.prepare_claims("pod-2", {claim("refused")});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "NodePrepareResources failed for ResourceClaim refused: device gpu-0 is held by "
              "another claim");
    const auto skipped = kubelet.prepare_claims("pod-3", {claim("skipped")});
    ASSERT_FALSE(skipped);
    EXPECT_EQ(skipped.error().message, "NodePrepareResources skipped 1 ResourceClaims");
    ClaimReference other = claim("refused");
    other.uid = "another";
    const auto old = kubelet.prepare_claims("pod-4", {other});
    ASSERT_FALSE(old);
    EXPECT_NE(old.error().message.find("still exists (previous pod force-deleted?!)"),
              std::string::npos);
}

TEST_F(ClaimDriversTest, ADriverOfUnknownVersionsIsTold) {
    SmallDriver driver(root, "v2.DRAPlugin");
    for (int i = 0; i < 500 && driver.problem().empty(); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(driver.registered);
    EXPECT_NE(driver.problem().find(
                  "none of services supported by the plugin (v2.DRAPlugin) are supported"),
              std::string::npos)
        << driver.problem();
}

}  // namespace
}  // namespace aliquot::sim
