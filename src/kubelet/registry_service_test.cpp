// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <thread>

#include "api/kubelet/deviceplugin.grpc.pb.h"
#include "api/kubelet/pluginregistration.grpc.pb.h"
#include "kubelet/device_plugin.h"
#include "kubelet/stub_kubelet.h"
#include "kubelet/unix_socket.h"
#include "os/temporary_directory.h"

namespace aliquot::kubelet {
namespace {

using std::chrono::milliseconds;

class NoDecider final : public Decider {
public:
    std::vector<std::string> prefer(std::span<const std::string> /*available*/,
                                    std::span<const std::string> /*must_include*/,
                                    std::size_t /*size*/) noexcept override {
        return {};
    }
    Result<grant::Grant> allocate(std::span<const std::string> /*ids*/) override {
        return grant::Grant{};
    }
};

/// Plays the plugin watcher: asks a socket of plugins_registry what it is.
class RegistryServiceTest : public testing::Test {
protected:
    RegistryServiceTest() {
        std::filesystem::create_directories(socket_.parent_path());
        options_.resource = "nvidia.com/gpu";
        options_.socket_name = "nvidia-gpu.sock";
        options_.registration = Registration::kRegistry;
        options_.poll_interval = milliseconds(20);
        options_.no_stream_limit = milliseconds(50);
    }

    pluginregistration::PluginInfo info() {
        pluginregistration::PluginInfo info;
        grpc::ClientContext context;
        const auto stub = pluginregistration::Registration::NewStub(dial(socket_));
        const auto status = stub->GetInfo(&context, {}, &info);
        EXPECT_TRUE(status.ok()) << status.error_message();
        return info;
    }

    void notify(bool registered, const std::string& error = {}) {
        pluginregistration::RegistrationStatus news;
        news.set_plugin_registered(registered);
        news.set_error(error);
        pluginregistration::RegistrationStatusResponse response;
        grpc::ClientContext context;
        const auto stub = pluginregistration::Registration::NewStub(dial(socket_));
        EXPECT_TRUE(stub->NotifyRegistrationStatus(&context, news, &response).ok());
    }

    /// The socket's inode, or 0.
    [[nodiscard]] std::uint64_t inode() const {
        const auto status = root_.status("/var/lib/kubelet/plugins_registry/nvidia-gpu.sock");
        return status ? status->identity.inode : 0;
    }

    os::TemporaryDirectory temporary_;
    os::Root root_{temporary_.path()};
    std::filesystem::path socket_ =
        root_.resolve("/var/lib/kubelet/plugins_registry/nvidia-gpu.sock");
    NoDecider decider_;
    PluginOptions options_;
};

TEST_F(RegistryServiceTest, TellsThePluginWatcherWhatItIsAndServesOnTheSameSocket) {
    DevicePlugin plugin(root_, options_, decider_);
    ASSERT_TRUE(plugin.start({{"a"}}));
    const auto told = info();
    EXPECT_EQ(told.type(), "DevicePlugin");
    EXPECT_EQ(told.name(), "nvidia.com/gpu");
    EXPECT_EQ(told.endpoint(), "");
    EXPECT_THAT(told.supported_versions(), testing::ElementsAre("v1beta1"));

    notify(true);
    EXPECT_EQ(plugin.status().registrations, 1U);
    const auto stub = v1beta1::DevicePlugin::NewStub(dial(socket_));
    grpc::ClientContext context;
    const auto reader = stub->ListAndWatch(&context, {});
    v1beta1::ListAndWatchResponse list;
    ASSERT_TRUE(reader->Read(&list));
    EXPECT_EQ(list.devices(0).id(), "a");
    context.TryCancel();
}

TEST_F(RegistryServiceTest, KeepsTheReasonWhyKubeletRefuses) {
    DevicePlugin plugin(root_, options_, decider_);
    ASSERT_TRUE(plugin.start({{"a"}}));
    notify(false, "invalid name");
    EXPECT_EQ(plugin.status().last_error, "invalid name");
    EXPECT_EQ(plugin.status().registrations, 0U);
    notify(true);
    EXPECT_EQ(plugin.status().last_error, "");
}

TEST_F(RegistryServiceTest, MakesANewSocketWhenItIsRegisteredAndNobodyListens) {
    DevicePlugin plugin(root_, options_, decider_);
    ASSERT_TRUE(plugin.start({{"a"}}));
    // While it is open here, the old inode cannot be used again.
    std::filesystem::create_hard_link(socket_, temporary_.path() / "first");
    const auto first = inode();
    notify(true);
    for (int i = 0; i < 1000 && (inode() == first || inode() == 0); ++i)
        std::this_thread::sleep_for(milliseconds(10));
    EXPECT_NE(inode(), first);
    EXPECT_EQ(info().name(), "nvidia.com/gpu");
}

}  // namespace
}  // namespace aliquot::kubelet
