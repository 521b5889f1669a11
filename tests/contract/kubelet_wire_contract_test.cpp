// SPDX-License-Identifier: Apache-2.0
//
// The bytes between kubelet and a device plugin: recorded on the sockets and compared with messages
// worked out by hand from the tags, so that a slip in our .proto cannot agree with itself.
#include <gmock/gmock.h>

#include <array>
#include <charconv>

#include "kubelet/device_plugin.h"
#include "tests/contract/kubelet_world.h"
#include "tests/contract/scripted_plugin.h"
#include "tests/contract/socket_relay.h"

namespace aliquot::contract {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// A message as gRPC sends it: not compressed, its length in four bytes, then what `hex` says.
std::string framed(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        unsigned value = 0;
        std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
        bytes += static_cast<char>(value);
    }
    std::string frame(4, '\0');  // flag and the upper three bytes of the length
    frame += static_cast<char>(bytes.size());
    return frame + bytes;
}

constexpr std::string_view kRegister =
    "0a0776316265746131120f6e76696469612d6770752e736f636b1a0e6e76696469612e636f6d2f67707522021001";
constexpr std::string_view kList =
    "0a190a084750552d303a3a3012074865616c7468791a040a020801"   // GPU-0::0 on NUMA node 1
    "0a190a084750552d303a3a311209556e6865616c7468791a020a00";  // GPU-0::1 on NUMA node 0
constexpr std::string_view kAllocate = "0a0a0a084750552d303a3a30";
constexpr std::string_view kGranted =
    "0a4b0a1f0a164e56494449415f56495349424c455f4445564943455312054750552d302a280a266b38732e64657669"
    "63652d706c7567696e2e6e76696469612e636f6d2f6770753d4750552d30";

class OneGpu final : public kubelet::Decider {
public:
    std::vector<std::string> prefer(std::span<const std::string> available,
                                    std::span<const std::string> /*must_include*/,
                                    std::size_t /*size*/) noexcept override {
        return {available.begin(), available.end()};
    }
    Result<grant::Grant> allocate(std::span<const std::string> /*ids*/) override {
        grant::Grant grant;
        grant.environment["NVIDIA_VISIBLE_DEVICES"] = "GPU-0";
        grant.cdi_devices = {"k8s.device-plugin.nvidia.com/gpu=GPU-0"};
        return grant;
    }
};

TEST(KubeletWire, CarriesTheBytesThatTheTagsSay) {
    // Kubelet's directory and the plugin's are two, with a relay for each socket between them.
    os::TemporaryDirectory temporary;
    const os::Root root(temporary.path());
    sim::KubeletOptions options;
    options.plugin_directory = "/kubelet";
    sim::Kubelet kubelet(root, options);
    ASSERT_TRUE(kubelet.start());
    ASSERT_TRUE(root.make_directories("/plugin"));
    const SocketRelay registration(root.resolve("/plugin/kubelet.sock").string(),
                                   root.resolve("/kubelet/kubelet.sock").string());
    const SocketRelay calls(root.resolve("/kubelet/nvidia-gpu.sock").string(),
                            root.resolve("/plugin/nvidia-gpu.sock").string());
    OneGpu decider;
    kubelet::PluginOptions plugin_options;
    plugin_options.resource = kGpu;
    plugin_options.socket_name = "nvidia-gpu.sock";
    plugin_options.paths.kubelet_socket = "/plugin/kubelet.sock";
    kubelet::DevicePlugin plugin(root, plugin_options, decider);
    ASSERT_TRUE(plugin.start({{"GPU-0::0", true, 1}, {"GPU-0::1", false, 0}}));
    ASSERT_TRUE(kubelet.wait_allocatable(kGpu, 1, kPatience));
    const auto grants = kubelet.admit(pod("one", 1));
    ASSERT_TRUE(grants) << grants.error().message;
    EXPECT_EQ(grants->at(0).grant.environment.at("NVIDIA_VISIBLE_DEVICES"), "GPU-0");

    EXPECT_THAT(registration.sent_by_client(), HasSubstr(framed(kRegister)));
    // The name of the method is Huffman-coded: that kubelet has registered us shows it.
    EXPECT_THAT(calls.sent_by_server(), HasSubstr(framed(kList)));
    EXPECT_THAT(calls.sent_by_client(), HasSubstr(framed(kAllocate)));
    EXPECT_THAT(calls.sent_by_server(), HasSubstr(framed(kGranted)));
    for (const auto* name : {"GetDevicePluginOptions", "ListAndWatch", "Allocate"}) {
        EXPECT_THAT(calls.sent_by_client(),
                    HasSubstr("/v1beta1.DevicePlugin/" + std::string(name)));
    }
    EXPECT_THAT(calls.sent_by_client(), HasSubstr("localhost"));  // :authority
}

TEST(KubeletWire, AsksForPreferencesWithWhatMustBeIncluded) {
    os::TemporaryDirectory temporary;
    const os::Root root(temporary.path());
    sim::Kubelet kubelet(root, {});
    ASSERT_TRUE(kubelet.start());
    ScriptedPlugin plugin;
    plugin.script({.prefer = [](auto, auto, unsigned) { return std::vector<std::string>{"a"}; }});
    plugin.set_devices({{"a"}, {"b"}});
    ASSERT_TRUE(plugin.start(root.resolve("/plugin.sock").string()));
    const SocketRelay calls(root.resolve(kDirectory + "/gpu.sock").string(),
                            root.resolve("/plugin.sock").string());
    ASSERT_EQ(ScriptedPlugin::register_with(root.resolve(kDirectory + "/kubelet.sock").string(),
                                            "gpu.sock"),
              "");
    ASSERT_TRUE(kubelet.wait_allocatable(kGpu, 2, kPatience));
    auto request = pod("one", 2);
    request.init_containers = {{.name = "prepare", .limits = {{kGpu, 1}}}};
    ASSERT_TRUE(kubelet.admit(request));
    // {available [a, b], must_include [a], size 2}; the order of `available` is random.
    EXPECT_THAT(calls.sent_by_client(), AnyOf(HasSubstr(framed("0a0b0a01610a01621201611802")),
                                              HasSubstr(framed("0a0b0a01620a01611201611802"))));
}

}  // namespace
}  // namespace aliquot::contract
