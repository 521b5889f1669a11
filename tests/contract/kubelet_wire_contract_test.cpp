// SPDX-License-Identifier: Apache-2.0
//
// The bytes between kubelet and a device plugin: recorded on the sockets and compared with messages
// worked out by hand from the tags, so that a slip in our .proto cannot agree with itself.
#include <gmock/gmock.h>
#include <nghttp2/nghttp2.h>

#include <array>
#include <charconv>
#include <memory>

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

/// The header fields in what an HTTP/2 client has sent, "name: value" a line: their texts are Huffman-coded, and the
/// next call's refer to those of the one before.
std::string headers_in(std::string_view sent) {
    constexpr std::size_t kPreface = 24;
    constexpr std::size_t kFrameHead = 9;
    constexpr char kHeaders = 1;
    nghttp2_hd_inflater* made = nullptr;
    EXPECT_EQ(nghttp2_hd_inflate_new(&made), 0);
    const std::unique_ptr<nghttp2_hd_inflater, void (*)(nghttp2_hd_inflater*)> inflater(
        made, nghttp2_hd_inflate_del);
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(sent[at]); };
    std::string lines;
    for (std::size_t at = kPreface; at + kFrameHead <= sent.size();) {
        const std::size_t length = (byte(at) << 16U) | (byte(at + 1) << 8U) | byte(at + 2);
        const bool headers = sent[at + 3] == kHeaders;
        auto block = sent.substr(at + kFrameHead, length);
        at += kFrameHead + length;
        while (headers && !block.empty()) {
            nghttp2_nv field{};
            int flags = 0;
            const auto taken = nghttp2_hd_inflate_hd2(
                made, &field, &flags, reinterpret_cast<const std::uint8_t*>(block.data()),
                block.size(), 1);
            if (taken < 0) return lines + "what is not HPACK\n";
            block.remove_prefix(static_cast<std::size_t>(taken));
            if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0) continue;
            lines.append(reinterpret_cast<const char*>(field.name), field.namelen).append(": ");
            lines.append(reinterpret_cast<const char*>(field.value), field.valuelen).append("\n");
        }
        if (headers) nghttp2_hd_inflate_end_headers(made);
    }
    return lines;
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
    EXPECT_THAT(calls.sent_by_server(), HasSubstr(framed(kList)));
    EXPECT_THAT(calls.sent_by_client(), HasSubstr(framed(kAllocate)));
    EXPECT_THAT(calls.sent_by_server(), HasSubstr(framed(kGranted)));
    const std::string asked = headers_in(calls.sent_by_client());
    for (const auto* name : {"GetDevicePluginOptions", "ListAndWatch", "Allocate"})
        EXPECT_THAT(asked, HasSubstr(":path: /v1beta1.DevicePlugin/" + std::string(name) + "\n"));
    EXPECT_THAT(asked, HasSubstr(":authority: localhost\n"));
    EXPECT_THAT(asked, HasSubstr("te: trailers\n"));
    EXPECT_THAT(headers_in(registration.sent_by_client()),
                HasSubstr(":path: /v1beta1.Registration/Register\n"));
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
