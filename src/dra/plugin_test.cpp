// SPDX-License-Identifier: Apache-2.0
// Google's gRPC as the peer, as kubelet is one.
#include "dra/plugin.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "api/kubelet/dra.grpc.pb.h"
#include "api/kubelet/dra_health.grpc.pb.h"
#include "api/kubelet/dra_v1beta1.grpc.pb.h"
#include "api/kubelet/pluginregistration.grpc.pb.h"
#include "base/descriptor.h"
#include "dra/test_claims.h"
#include "os/temporary_directory.h"

namespace aliquot::dra {
namespace {

namespace now = ::k8s::io::kubelet::pkg::apis::dra::v1;
namespace older = ::k8s::io::kubelet::pkg::apis::dra::v1beta1;

class DraPlugin : public ::testing::Test {
protected:
    void SetUp() override {
        (void)node.root.make_directories("/r");
        keeper = node.start();
        plugin = std::make_unique<Plugin>(
            node.root, PluginPaths{.plugins_registry = "/r", .plugins = "/p"}, *keeper);
        plugin->tell_health("node-1", node.state.devices);
        plugin->start();
    }
    std::shared_ptr<grpc::Channel> dial(const std::string& path) const {
        return grpc::CreateChannel("unix:" + node.root.resolve(path).native(),
                                   grpc::InsecureChannelCredentials());
    }
    template <class Request>
    static Request asking(const std::vector<ClaimName>& claims) {
        Request request;
        for (const ClaimName& claim : claims) {
            auto& asked = *request.add_claims();
            asked.set_namespace_(claim.name_space);
            asked.set_name(claim.name);
            asked.set_uid(claim.uid);
        }
        return request;
    }

    os::TemporaryDirectory directory_;
    Node node{directory_.path()};
    std::unique_ptr<Keeper> keeper;
    std::unique_ptr<Plugin> plugin;
};

TEST_F(DraPlugin, IsFoundByKubeletsWatcher) {
    const auto stub =
        pluginregistration::Registration::NewStub(dial("/r/gpu.aliquot.dev-reg.sock"));
    grpc::ClientContext context;
    pluginregistration::PluginInfo info;
    ASSERT_TRUE(stub->GetInfo(&context, {}, &info).ok());
    EXPECT_EQ(info.type(), "DRAPlugin");
    EXPECT_EQ(info.name(), "gpu.aliquot.dev");
    EXPECT_EQ(info.endpoint(), node.root.resolve("/p/gpu.aliquot.dev/dra.sock").native());
    ASSERT_EQ(info.supported_versions_size(), 4);
    EXPECT_EQ(info.supported_versions(0), "v1.DRAPlugin");
    EXPECT_EQ(info.supported_versions(1), "v1beta1.DRAPlugin");
    grpc::ClientContext second;
    pluginregistration::RegistrationStatus status;
    status.set_plugin_registered(true);
    pluginregistration::RegistrationStatusResponse none;
    ASSERT_TRUE(stub->NotifyRegistrationStatus(&second, status, &none).ok());
    EXPECT_EQ(plugin->status().registrations, 1U);
    EXPECT_TRUE(plugin->status().serving);
}

TEST_F(DraPlugin, PreparesByV1) {
    const ClaimName good = node.allocate("a", "3Gi", 25);
    const ClaimName bad{"ai", "none", "uid-none"};
    const auto stub = now::DRAPlugin::NewStub(dial("/p/gpu.aliquot.dev/dra.sock"));
    grpc::ClientContext context;
    now::NodePrepareResourcesResponse answer;
    const auto called = stub->NodePrepareResources(
        &context, asking<now::NodePrepareResourcesRequest>({good, bad}), &answer);
    ASSERT_TRUE(called.ok()) << called.error_message();
    ASSERT_EQ(answer.claims_size(), 2) << "kubelet wants an answer for each claim";
    EXPECT_FALSE(answer.claims().at("uid-none").error().empty());
    ASSERT_EQ(answer.claims().at("uid-a").devices_size(), 1);
    const auto& device = answer.claims().at("uid-a").devices(0);
    EXPECT_EQ(device.request_names(0), "gpu");
    EXPECT_EQ(device.pool_name(), "node-1");
    EXPECT_EQ(device.device_name(), "gpu-0000-65-00-0");
    EXPECT_EQ(device.cdi_device_ids(0), "k8s.gpu.aliquot.dev/claim=uid-a-0.part.GPU-0");
    EXPECT_EQ(device.share_id(), "share-1");
    grpc::ClientContext second;
    now::NodeUnprepareResourcesResponse undone;
    ASSERT_TRUE(stub->NodeUnprepareResources(
                        &second, asking<now::NodeUnprepareResourcesRequest>({good, bad}), &undone)
                    .ok());
    EXPECT_EQ(undone.claims_size(), 2);
    EXPECT_EQ(undone.claims().at("uid-none").error(), "");
    EXPECT_TRUE(keeper->claims()->empty());
}

TEST_F(DraPlugin, PreparesByV1Beta1) {
    const ClaimName claim = node.allocate("a", "3Gi", 25);
    const auto stub = older::DRAPlugin::NewStub(dial("/p/gpu.aliquot.dev/dra.sock"));
    grpc::ClientContext context;
    older::NodePrepareResourcesResponse answer;
    ASSERT_TRUE(stub->NodePrepareResources(
                        &context, asking<older::NodePrepareResourcesRequest>({claim}), &answer)
                    .ok());
    EXPECT_EQ(answer.claims().at("uid-a").devices(0).cdi_device_ids(0),
              "k8s.gpu.aliquot.dev/claim=uid-a-0.part.GPU-0");
}

TEST_F(DraPlugin, TellsHealthAsACompleteList) {
    const auto stub = v1alpha1::DRAResourceHealth::NewStub(dial("/p/gpu.aliquot.dev/dra.sock"));
    grpc::ClientContext context;
    const auto stream = stub->NodeWatchResources(&context, {});
    v1alpha1::NodeWatchResourcesResponse told;
    ASSERT_TRUE(stream->Read(&told));
    ASSERT_EQ(told.devices_size(), 2);
    EXPECT_EQ(told.devices(0).health(), v1alpha1::HEALTHY);
    EXPECT_EQ(told.devices(0).health_check_timeout_seconds(), 30);
    node.state.devices[1].health = {.state = gpu::Health::State::kUnhealthy, .reason = "Xid 79"};
    plugin->tell_health("node-1", node.state.devices);
    ASSERT_TRUE(stream->Read(&told));
    ASSERT_EQ(told.devices_size(), 2);
    EXPECT_EQ(told.devices(1).health(), v1alpha1::UNHEALTHY);
    EXPECT_EQ(told.devices(1).message(), "Xid 79");
    context.TryCancel();
}

TEST_F(DraPlugin, MakesItsSocketsAgainAndTakesThemWithIt) {
    const auto registration = node.root.resolve("/r/gpu.aliquot.dev-reg.sock");
    const auto service = node.root.resolve("/p/gpu.aliquot.dev/dra.sock");
    ASSERT_TRUE(std::filesystem::exists(registration));
    std::filesystem::remove(registration);
    for (int i = 0; i < 500 && !std::filesystem::exists(registration); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_TRUE(std::filesystem::exists(registration));
    plugin.reset();
    EXPECT_FALSE(std::filesystem::exists(registration));
    EXPECT_FALSE(std::filesystem::exists(service));
}

/// kubelet logs an error for every name in plugins_registry that has gone when it looks.
TEST_F(DraPlugin, ComesToTheRegistryUnderItsOwnNameOnly) {
    const auto registry = node.root.resolve("/r");
    const Descriptor watcher(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    ASSERT_GE(::inotify_add_watch(watcher.get(), registry.c_str(), IN_CREATE | IN_MOVED_TO), 0);
    const auto registration = registry / "gpu.aliquot.dev-reg.sock";
    std::filesystem::remove(registration);
    for (int i = 0; i < 500 && !std::filesystem::exists(registration); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    alignas(inotify_event) std::array<char, 4096> buffer{};
    const auto bytes = ::read(watcher.get(), buffer.data(), buffer.size());
    inotify_event event{};
    ASSERT_GT(bytes, static_cast<ssize_t>(sizeof event));
    std::memcpy(&event, buffer.data(), sizeof event);
    EXPECT_STREQ(buffer.data() + sizeof event, "gpu.aliquot.dev-reg.sock");
    EXPECT_EQ(static_cast<std::size_t>(bytes), sizeof event + event.len) << "one name";
}

TEST(DraPluginPaths, FitASocketAddress) {
    PluginPaths paths{.pod_uid = "8f2c9a44-0f0e-4e6c-9f3e-0d8f8f1f2a3b"};
    EXPECT_EQ(
        paths.service_socket(),
        "/var/lib/kubelet/plugins/gpu.aliquot.dev/dra-8f2c9a44-0f0e-4e6c-9f3e-0d8f8f1f2a3b.sock");
    EXPECT_EQ(paths.registration_socket(),
              "/var/lib/kubelet/plugins_registry/"
              "gpu.aliquot.dev-8f2c9a44-0f0e-4e6c-9f3e-0d8f8f1f2a3b-reg.sock");
    paths.plugins = "/var/snap/a-distribution-of-kubernetes/common/var/lib/kubelet/plugins";
    EXPECT_LE(paths.service_socket().size(), 107U);
    const std::string first = paths.service_socket();
    paths.pod_uid = "9f2c9a44-0f0e-4e6c-9f3e-0d8f8f1f2a3b";
    EXPECT_NE(paths.service_socket(), first);
}

}  // namespace
}  // namespace aliquot::dra
