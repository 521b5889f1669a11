// SPDX-License-Identifier: Apache-2.0
#include "kubelet/device_plugin.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

#include "api/kubelet/deviceplugin.grpc.pb.h"
#include "kubelet/stub_kubelet.h"
#include "kubelet/unix_socket.h"
#include "os/temporary_directory.h"

namespace aliquot::kubelet {
namespace {

using std::chrono::milliseconds;

/// Grants everything by one variable, except what is named after an error.
class EasyDecider final : public Decider {
public:
    std::vector<std::string> prefer(std::span<const std::string> available,
                                    std::span<const std::string> /*must_include*/,
                                    std::size_t size) noexcept override {
        return {available.begin(),
                available.begin() + static_cast<std::ptrdiff_t>(std::min(size, available.size()))};
    }
    Result<grant::Grant> allocate(std::span<const std::string> ids) override {
        if (ids.empty()) return Error{ErrorCode::kInvalidInput, "no device asked for"};
        if (ids[0] == "unknown") return Error{ErrorCode::kNotFound, "unknown: is not ours"};
        if (ids[0] == "away") return Error{ErrorCode::kUnavailable, "away: is lost"};
        if (ids[0] == "throw") throw std::runtime_error("broken");
        grant::Grant grant;
        grant.environment["DEVICES"] = std::string(ids[0]);
        return grant;
    }
};

class DevicePluginTest : public testing::Test {
protected:
    DevicePluginTest() {
        std::filesystem::create_directories(directory_);
        options_.resource = "nvidia.com/gpu";
        options_.socket_name = "nvidia-gpu.sock";
        options_.debounce = milliseconds(10);
        options_.poll_interval = milliseconds(50);
        options_.retry_first = milliseconds(20);
        options_.retry_limit = milliseconds(100);
    }

    std::unique_ptr<DevicePlugin> started(std::vector<grant::Device> devices = {{"a"}, {"b"}}) {
        auto plugin = std::make_unique<DevicePlugin>(root_, options_, decider_);
        const auto done = plugin->start(std::move(devices));
        EXPECT_TRUE(done) << done.error().message;
        return plugin;
    }

    [[nodiscard]] std::filesystem::path socket() const { return directory_ / "nvidia-gpu.sock"; }

    os::TemporaryDirectory temporary_;
    os::Root root_{temporary_.path()};
    std::filesystem::path directory_ = root_.resolve("/var/lib/kubelet/device-plugins");
    EasyDecider decider_;
    PluginOptions options_;
};

/// For what only a status tells. False after ten seconds.
bool eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(10));
    return condition();
}

bool listed(const Seen& seen, const SeenDevices& devices) {
    return !seen.lists.empty() && seen.lists.back() == devices;
}

SeenDevices both() { return {{"a", "Healthy none"}, {"b", "Healthy none"}}; }

TEST_F(DevicePluginTest, RegistersAndListsItsDevicesAtOnce) {
    StubKubelet kubelet(directory_);
    kubelet.start();
    const auto plugin = started({{"a", true, 1}, {"b", false, 0}, {"c"}});
    const SeenDevices expected{{"a", "Healthy 1"}, {"b", "Unhealthy 0"}, {"c", "Healthy none"}};
    ASSERT_TRUE(kubelet.wait([&](const Seen& seen) { return listed(seen, expected); }));
    const auto seen = kubelet.seen();
    EXPECT_EQ(seen.resource, "nvidia.com/gpu");
    EXPECT_EQ(seen.endpoint, "nvidia-gpu.sock");
    EXPECT_TRUE(seen.preferred_in_request);
    EXPECT_TRUE(seen.preferred_in_dial_back);
}

TEST_F(DevicePluginTest, RegistersAgainWithEachNewKubelet) {
    StubKubelet kubelet(directory_);
    const auto plugin = started();
    for (unsigned round = 1; round <= 5; ++round) {
        kubelet.start();
        ASSERT_TRUE(kubelet.wait([&](const Seen& seen) {
            return seen.accepted == round && seen.lists.size() == round;
        })) << round;
        // The list can be there before the answer to Register is.
        ASSERT_TRUE(eventually([&] { return plugin->status().registrations == round; }));
        kubelet.stop();
    }
    EXPECT_EQ(kubelet.seen().registers, 5U);
}

TEST_F(DevicePluginTest, TakesItsSocketBackWhenItIsRemoved) {
    StubKubelet kubelet(directory_);
    kubelet.start();
    const auto plugin = started();
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.lists.size() == 1; }));
    std::filesystem::remove(socket());
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.lists.size() == 2; }));
    EXPECT_TRUE(std::filesystem::is_socket(socket()));
}

TEST_F(DevicePluginTest, ReplacesTheSocketOfAKilledPredecessor) {
    {
        const Descriptor dead(::socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const auto path = socket().native();
        ASSERT_LT(path.size(), sizeof(address.sun_path));
        std::copy(path.begin(), path.end(), address.sun_path);
        ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    }
    const auto plugin = started();
    grpc::ClientContext context;
    v1beta1::DevicePluginOptions options;
    const auto stub = v1beta1::DevicePlugin::NewStub(dial(socket()));
    EXPECT_TRUE(stub->GetDevicePluginOptions(&context, {}, &options).ok());
}

TEST_F(DevicePluginTest, WaitsForADirectoryThatIsNotThere) {
    std::filesystem::remove_all(temporary_.path() / "var");
    const auto plugin = started();
    EXPECT_NE(plugin->status().state, PluginStatus::State::kServing);
    std::filesystem::create_directories(directory_);
    StubKubelet kubelet(directory_);
    kubelet.start();
    EXPECT_TRUE(kubelet.wait([](const Seen& seen) { return listed(seen, both()); }));
}

TEST_F(DevicePluginTest, SaysWhyKubeletRefusesAndTriesAgain) {
    StubKubelet kubelet(directory_);
    kubelet.behave({.refuse_with = "the ResourceName \"gpu\" is invalid"});
    kubelet.start();
    const auto plugin = started();
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.registers >= 2; }));
    EXPECT_THAT(plugin->status().last_error, testing::HasSubstr("the ResourceName \"gpu\""));
    EXPECT_EQ(plugin->status().state, PluginStatus::State::kWaitingForKubelet);
    kubelet.behave({});
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return listed(seen, both()); }));
}

TEST_F(DevicePluginTest, GivesUpARegisterThatIsNeverAnswered) {
    options_.register_timeout = milliseconds(50);
    StubKubelet kubelet(directory_);
    kubelet.behave({.hang = true});
    kubelet.start();
    const auto plugin = started();
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.registers >= 2; }));
    EXPECT_NE(plugin->status().last_error, "");
}

TEST_F(DevicePluginTest, RegistersAgainWhenNobodyEverListens) {
    options_.no_stream_limit = milliseconds(50);
    StubKubelet kubelet(directory_);
    kubelet.behave({.listen = false});
    kubelet.start();
    const auto plugin = started();
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.accepted >= 2; }));
    kubelet.behave({});
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return listed(seen, both()); }));
}

TEST_F(DevicePluginTest, RegistersAgainWhenKubeletHangsUpByMistake) {
    StubKubelet kubelet(directory_);
    kubelet.start();
    const auto plugin = started();
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.lists.size() == 1; }));
    kubelet.hang_up();
    EXPECT_TRUE(kubelet.wait([](const Seen& seen) {
        return seen.streams_ended == 1 && seen.accepted == 2 && seen.lists.size() == 2;
    }));
}

TEST_F(DevicePluginTest, TellsEveryStreamOfEveryChange) {
    StubKubelet kubelet(directory_);
    kubelet.start();
    const auto plugin = started();
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.lists.size() == 1; }));

    const auto stub = v1beta1::DevicePlugin::NewStub(dial(socket()));
    grpc::ClientContext idle_context;  // a stream that nobody reads holds up no other
    const auto idle = stub->ListAndWatch(&idle_context, {});
    grpc::ClientContext context;
    const auto reader = stub->ListAndWatch(&context, {});
    v1beta1::ListAndWatchResponse list;
    ASSERT_TRUE(reader->Read(&list));
    EXPECT_EQ(list.devices_size(), 2);

    for (const bool healthy : {false, true, false}) {
        plugin->update({{"a", healthy}, {"b"}});
        ASSERT_TRUE(reader->Read(&list));
        EXPECT_EQ(list.devices(0).health(), healthy ? "Healthy" : "Unhealthy");
    }
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.lists.size() == 4; }));
    context.TryCancel();
    idle_context.TryCancel();
}

TEST_F(DevicePluginTest, JoinsQuickChangesAndSendsNoneTwice) {
    options_.debounce = milliseconds(200);
    StubKubelet kubelet(directory_);
    kubelet.start();
    const auto plugin = started();
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.lists.size() == 1; }));
    plugin->update({{"a"}, {"b"}});
    for (int i = 0; i < 50; ++i) plugin->update({{"a", i % 2 == 0}, {"b"}});
    plugin->update({{"last"}});
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) {
        return listed(seen, {{"last", "Healthy none"}});
    }));
    EXPECT_EQ(kubelet.seen().lists.size(), 2U);
}

TEST_F(DevicePluginTest, UpdatesWhileThereIsNoKubelet) {
    const auto plugin = started();
    plugin->update({{"new"}});
    StubKubelet kubelet(directory_);
    kubelet.start();
    EXPECT_TRUE(kubelet.wait([](const Seen& seen) {
        return listed(seen, {{"new", "Healthy none"}});
    }));
}

TEST_F(DevicePluginTest, WithdrawsWithAnEmptyListBeforeTheStreamEnds) {
    StubKubelet kubelet(directory_);
    kubelet.start();
    const auto plugin = started();
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.lists.size() == 1; }));
    plugin->stop(StopReason::kResourceGone);
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.streams_ended == 1; }));
    EXPECT_TRUE(listed(kubelet.seen(), {}));
    EXPECT_FALSE(std::filesystem::exists(socket()));
    EXPECT_EQ(plugin->status().state, PluginStatus::State::kStopped);
}

TEST_F(DevicePluginTest, RestartsWithoutTakingItsDevicesBack) {
    StubKubelet kubelet(directory_);
    kubelet.start();
    auto plugin = started();
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.lists.size() == 1; }));
    plugin->stop(StopReason::kRestart);
    plugin.reset();
    ASSERT_TRUE(kubelet.wait([](const Seen& seen) { return seen.streams_ended == 1; }));
    EXPECT_EQ(kubelet.seen().lists.size(), 1U);
    plugin = started();
    EXPECT_TRUE(kubelet.wait([](const Seen& seen) { return seen.lists.size() == 2; }));
}

TEST_F(DevicePluginTest, AnswersEveryAuthorityThatKubeletsSend) {
    const auto plugin = started();
    for (const auto* authority :
         {"localhost", "%2Fvar%2Flib%2Fkubelet%2Fdevice-plugins%2Fnvidia-gpu.sock",
          "/var/lib/kubelet/device-plugins/nvidia-gpu.sock", "x:0"}) {
        grpc::ClientContext context;
        v1beta1::DevicePluginOptions options;
        const auto status = v1beta1::DevicePlugin::NewStub(dial(socket(), authority))
                                ->GetDevicePluginOptions(&context, {}, &options);
        EXPECT_TRUE(status.ok()) << authority << ": " << status.error_message();
        EXPECT_TRUE(options.get_preferred_allocation_available());
        EXPECT_FALSE(options.pre_start_required());
    }
}

TEST_F(DevicePluginTest, AllocatesForEachContainerAndNamesTheErrors) {
    const auto plugin = started();
    const auto stub = v1beta1::DevicePlugin::NewStub(dial(socket()));
    const auto ask = [&](std::initializer_list<const char*> ids) {
        v1beta1::AllocateRequest request;
        for (const auto* id : ids) request.add_container_requests()->add_devices_ids(id);
        grpc::ClientContext context;
        v1beta1::AllocateResponse response;
        auto status = stub->Allocate(&context, request, &response);
        const int answers = status.ok() ? request.container_requests_size() : 0;
        EXPECT_EQ(response.container_responses_size(), answers);
        return status;
    };
    EXPECT_TRUE(ask({"a"}).ok());
    EXPECT_TRUE(ask({"a", "b"}).ok());
    EXPECT_EQ(plugin->status().allocations, 2U);
    const auto unknown = ask({"a", "unknown"});
    EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_EQ(unknown.error_message(), "nvidia.com/gpu: unknown: is not ours");
    EXPECT_EQ(ask({"away"}).error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(ask({"throw"}).error_code(), grpc::StatusCode::INTERNAL);
    EXPECT_EQ(plugin->status().allocations, 2U);
}

TEST_F(DevicePluginTest, LeavesNoDescriptorWhenConnectionsComeAndGo) {
    const auto plugin = started();
    const auto count = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    const auto once = [&] {
        const auto stub = v1beta1::DevicePlugin::NewStub(dial(socket()));
        grpc::ClientContext context;
        v1beta1::DevicePluginOptions options;
        EXPECT_TRUE(stub->GetDevicePluginOptions(&context, {}, &options).ok());
    };
    once();
    const auto before = count();
    for (int i = 0; i < 100; ++i) once();
    for (int i = 0; i < 50; ++i) {  // and some that never say a word; fewer than may wait
        auto silent = connect_unix(socket());
        EXPECT_TRUE(silent);
    }
    once();
    // The last ones may still be closing.
    EXPECT_TRUE(eventually([&] { return count() <= before + 4; })) << count();
}

TEST_F(DevicePluginTest, WorksWherePathsAreLongerThanASocketAddress) {
    const std::string deep = "/" + std::string(60, 'x') + "/" + std::string(60, 'y');
    options_.paths.kubelet_socket = deep + "/kubelet.sock";
    std::filesystem::create_directories(root_.resolve(deep));
    // The stub's gRPC cannot go there: it has short names for the two sockets.
    StubKubelet kubelet(directory_);
    kubelet.start();
    std::filesystem::create_hard_link(directory_ / "kubelet.sock",
                                      root_.resolve(deep) / "kubelet.sock");
    std::filesystem::create_symlink(root_.resolve(deep) / "nvidia-gpu.sock", socket());
    const auto plugin = started();
    EXPECT_TRUE(kubelet.wait([](const Seen& seen) { return listed(seen, both()); }));
    EXPECT_TRUE(std::filesystem::is_socket(root_.resolve(deep) / "nvidia-gpu.sock"));
}

TEST_F(DevicePluginTest, RefusesToStartWhereItCannot) {
    std::ofstream(socket()) << "a file";
    DevicePlugin occupied(root_, options_, decider_);
    auto done = occupied.start({});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kConflict);
    EXPECT_TRUE(std::filesystem::is_regular_file(socket()));

    for (const auto* name : {"", "a/b", ".hidden"}) {
        options_.socket_name = name;
        DevicePlugin plugin(root_, options_, decider_);
        done = plugin.start({});
        ASSERT_FALSE(done) << name;
        EXPECT_EQ(done.error().code, ErrorCode::kInvalidInput);
    }
}

}  // namespace
}  // namespace aliquot::kubelet
