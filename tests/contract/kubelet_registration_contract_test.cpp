// SPDX-License-Identifier: Apache-2.0
//
// Registration as kubelet handles it, from its start to the races between two plugins of one name.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/contract/kubelet_world.h"
#include "tests/contract/scripted_plugin.h"
#include "tests/descriptor_room.h"

namespace aliquot::contract {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Leaves a socket file that nobody serves.
void leave_socket(const std::string& path) {
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(static_cast<char*>(address.sun_path), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::close(descriptor);
}

class KubeletRegistration : public KubeletWorld {
protected:
    [[nodiscard]] std::string enlist(const std::string& endpoint = "test.sock",
                                     const std::string& resource = kGpu,
                                     const std::string& version = "v1beta1") const {
        return ScriptedPlugin::register_with(kubelet_socket(), endpoint, resource, version);
    }
    /// `old` with one device, and plugin_ with two in its place.
    void exchange(ScriptedPlugin& old) {
        old.set_devices({{"a"}});
        ASSERT_TRUE(old.start(path(kDirectory + "/old.sock")));
        ASSERT_EQ(enlist("old.sock"), "");
        ASSERT_TRUE(allocatable(1));
        plugin_.set_devices({{"a"}, {"b"}});
        ASSERT_TRUE(plugin_.start(plugin_socket()));
        ASSERT_EQ(enlist(), "");
        ASSERT_TRUE(allocatable(2));
    }
    ScriptedPlugin plugin_;
};

// CleanupPluginDirectory deletes sockets and only those; DEPRECATION is written.
TEST_F(KubeletRegistration, AtItsStartKubeletDeletesSocketsAndNothingElse) {
    kubelet_->stop();
    EXPECT_FALSE(std::filesystem::exists(kubelet_socket()));
    leave_socket(plugin_socket());
    std::ofstream(path(kDirectory + "/kept")) << "text";
    std::filesystem::create_directories(path(kDirectory + "/folder"));
    leave_socket(path(kDirectory + "/folder/kept.sock"));
    ASSERT_TRUE(kubelet_->start());
    EXPECT_FALSE(std::filesystem::exists(plugin_socket()));
    EXPECT_TRUE(std::filesystem::exists(path(kDirectory + "/kept")));
    EXPECT_TRUE(std::filesystem::exists(path(kDirectory + "/folder/kept.sock")));
    EXPECT_TRUE(std::filesystem::exists(path(kDirectory + "/DEPRECATION")));
    EXPECT_TRUE(std::filesystem::is_socket(kubelet_socket()));
    const auto mode = std::filesystem::status(path(kDirectory)).permissions();
    EXPECT_EQ(mode, std::filesystem::perms(0755));
}

TEST_F(KubeletRegistration, WrongVersionsAndNamesAreRefused) {
    ASSERT_TRUE(plugin_.start(plugin_socket()));
    EXPECT_THAT(enlist("test.sock", kGpu, "v1"),
                HasSubstr("requested API version \"v1\" is not supported by kubelet"));
    EXPECT_THAT(enlist("test.sock", "gpu"), HasSubstr("the ResourceName \"gpu\" is invalid"));
    EXPECT_THAT(enlist("test.sock", "requests.nvidia.com/gpu"), HasSubstr("is invalid"));
    EXPECT_EQ(kubelet_->registrations(), 0U);
}

// The plugin must answer before it registers: Register dials back and waits.
TEST_F(KubeletRegistration, RegisterFailsWhenNobodyAnswersTheDialBack) {
    options_.dial_timeout = std::chrono::milliseconds(300);
    make_kubelet();
    EXPECT_THAT(enlist(), HasSubstr("failed to dial device plugin"));
    EXPECT_FALSE(kubelet_->resources().contains(kGpu));
}

TEST_F(KubeletRegistration, RegisterFailsWhenTheOptionsFail) {
    plugin_.script({.options_error = "not ready"});
    ASSERT_TRUE(plugin_.start(plugin_socket()));
    EXPECT_THAT(enlist(), HasSubstr("failed to get device plugin options: rpc error: code = "
                                    "Unknown desc = not ready"));
    plugin_.script({});
    EXPECT_EQ(enlist(), "");
}

// Until the first message the resource has no devices, but kubelet knows it.
TEST_F(KubeletRegistration, AResourceHasNoDevicesBeforeTheFirstList) {
    ASSERT_TRUE(plugin_.start(plugin_socket()));
    ASSERT_EQ(enlist(), "");
    EXPECT_TRUE(kubelet_->resources().contains(kGpu));
    EXPECT_EQ(view().capacity, 0U);
    plugin_.set_devices({{"a"}});
    EXPECT_TRUE(allocatable(1));
}

// connectClient: each Register makes one more connection with one more stream.
TEST_F(KubeletRegistration, TwoHundredRegistrationsOfOnePluginLoseNothing) {
    if (const auto why = lacking_descriptors(600); !why.empty()) GTEST_SKIP() << why;
    plugin_.set_devices({{"a"}, {"b"}});
    ASSERT_TRUE(plugin_.start(plugin_socket()));
    for (int i = 0; i < 200; ++i) ASSERT_EQ(enlist(), "") << i;
    EXPECT_EQ(kubelet_->registrations(), 200U);
    ASSERT_TRUE(plugin_.wait([](const auto& seen) { return seen.streams == 200; }));
    ASSERT_TRUE(allocatable(2));
    ASSERT_TRUE(kubelet_->admit(pod("one", 1)));
    plugin_.set_devices({{"a"}, {"b"}, {"c"}});
    ASSERT_TRUE(allocatable(3));
    EXPECT_EQ(kubelet_->holders().size(), 1U);
    // Of 200 streams some may still hand over that list when the first has ended already, so
    // nothing can be said of what is allocatable until the plugin is back.
    plugin_.stop();
    ASSERT_TRUE(streams(0));
    ASSERT_TRUE(plugin_.start(plugin_socket()));
    plugin_.set_devices({{"d"}});
    ASSERT_EQ(enlist(), "");
    EXPECT_TRUE(allocatable(1));
}

// runClient looks the client up by the resource's name when a stream ends.
TEST_F(KubeletRegistration, TheEndOfAnOldPluginsStreamDisconnectsItsSuccessor) {
    ScriptedPlugin old;
    ASSERT_NO_FATAL_FAILURE(exchange(old));

    old.stop();
    ASSERT_TRUE(allocatable(0));
    EXPECT_EQ(view().capacity, 2U);
    EXPECT_TRUE(plugin_.wait([](const auto& seen) { return seen.streams == 0; }));
    EXPECT_EQ(enlist(), "");  // what a plugin must do then
    EXPECT_TRUE(allocatable(2));
}

TEST_F(KubeletRegistration, WithoutTheRaceTheSuccessorStays) {
    options_.reproduce_registration_race = false;
    make_kubelet();
    ScriptedPlugin old;
    ASSERT_NO_FATAL_FAILURE(exchange(old));
    old.stop();
    EXPECT_TRUE(kubelet_->admit(pod("one", 2)));
    EXPECT_TRUE(view().connected);
}

// connectClient: a Register that fails takes the good client out of the list, so the end of its
// stream is not noticed any more.
TEST_F(KubeletRegistration, AfterAFailedRegisterKubeletIsBlindForTheEndOfThePlugin) {
    plugin_.set_devices({{"a"}});
    ASSERT_TRUE(plugin_.start(plugin_socket()));
    ASSERT_EQ(enlist(), "");
    ASSERT_TRUE(allocatable(1));
    EXPECT_THAT(enlist("absent.sock"), StartsWith("error"));
    EXPECT_EQ(view().allocatable, 1U);
    plugin_.stop();
    const auto refused = kubelet_->admit(pod("one", 1));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("rpc error: code = Unavailable"));
    EXPECT_EQ(view().allocatable, 1U);
    ASSERT_TRUE(plugin_.start(plugin_socket()));
    EXPECT_EQ(enlist(), "");
    EXPECT_TRUE(kubelet_->admit(pod("one", 1)));
}

// pluginmanager: what appears in plugins_registry is asked for its name and told the result.
TEST_F(KubeletRegistration, APluginInTheRegistryIsFoundAndTold) {
    plugin_.set_devices({{"a"}});
    ASSERT_TRUE(plugin_.start(path(kRegistry + "/gpu.sock")));
    ASSERT_TRUE(plugin_.wait([](const auto& seen) { return seen.notified_registered; }));
    ASSERT_TRUE(allocatable(1));
    plugin_.stop();
    ASSERT_TRUE(allocatable(0));
    EXPECT_EQ(view().capacity, 1U);
}

TEST_F(KubeletRegistration, APluginInTheRegistryIsToldWhyItIsRefused) {
    ASSERT_TRUE(plugin_.start(path(kRegistry + "/gpu.sock"), "gpu"));
    ASSERT_TRUE(plugin_.wait([](const auto& seen) {
        return seen.notified_error.find("the ResourceName \"gpu\" is invalid") != std::string::npos;
    }));
    ScriptedPlugin other;
    ASSERT_TRUE(other.start(path(kRegistry + "/other.sock"), kGpu, "Toaster"));
    ASSERT_TRUE(other.wait([](const auto& seen) {
        return seen.notified_error.find("no handler registered for plugin type: Toaster") !=
               std::string::npos;
    }));
    EXPECT_EQ(kubelet_->registrations(), 0U);
}

TEST_F(KubeletRegistration, RegistryNamesThatBeginWithADotAreNotSeen) {
    ASSERT_TRUE(plugin_.start(path(kRegistry + "/.gpu.sock")));
    ScriptedPlugin visible;
    visible.set_devices({{"a"}});
    std::filesystem::create_directories(path(kRegistry + "/folder"));
    ASSERT_TRUE(visible.start(path(kRegistry + "/folder/visible.sock"), "example.com/visible"));
    ASSERT_TRUE(allocatable(1, "example.com/visible"));
    EXPECT_EQ(kubelet_->registrations(), 1U);
}

// The socket's removal de-registers, although the plugin still serves its stream.
TEST_F(KubeletRegistration, RemovingTheSocketFromTheRegistryDisconnectsThePlugin) {
    plugin_.set_devices({{"a"}});
    const auto socket = path(kRegistry + "/gpu.sock");
    ASSERT_TRUE(plugin_.start(socket));
    ASSERT_TRUE(allocatable(1));
    std::filesystem::remove(socket);
    ASSERT_TRUE(allocatable(0));
    EXPECT_TRUE(plugin_.wait([](const auto& seen) { return seen.streams == 0; }));
}

TEST_F(KubeletRegistration, AStoppedKubeletEndsItsStreams) {
    plugin_.set_devices({{"a"}});
    ASSERT_TRUE(plugin_.start(plugin_socket()));
    ASSERT_EQ(enlist(), "");
    ASSERT_TRUE(allocatable(1));
    kubelet_->stop();
    EXPECT_TRUE(plugin_.wait([](const auto& seen) { return seen.streams == 0; }));
    EXPECT_FALSE(kubelet_->admit(pod("one", 1)));
}

}  // namespace
}  // namespace aliquot::contract
