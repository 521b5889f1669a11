// SPDX-License-Identifier: Apache-2.0
#include "kubelet/to_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "api/kubelet/deviceplugin.pb.h"

namespace aliquot::kubelet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string hex(const std::string& bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const auto byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        text += kDigits[value >> 4U];
        text += kDigits[value & 15U];
    }
    return text;
}

unsigned nibble(char digit) {
    return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

template <class Message>
Message parsed(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes += static_cast<char>((nibble(text[i]) << 4U) | nibble(text[i + 1]));
    Message message;
    EXPECT_TRUE(message.ParseFromString(bytes)) << text;
    EXPECT_EQ(hex(message.SerializeAsString()), text);
    return message;
}

/// Records what it is asked.
class RecordingDecider final : public Decider {
public:
    std::vector<std::string> prefer(std::span<const std::string> available,
                                    std::span<const std::string> must_include,
                                    std::size_t size) noexcept override {
        sizes.push_back(size);
        offered.assign(available.begin(), available.end());
        needed.assign(must_include.begin(), must_include.end());
        return {available.begin(),
                available.begin() + static_cast<std::ptrdiff_t>(std::min(size, available.size()))};
    }
    Result<grant::Grant> allocate(std::span<const std::string> ids) override {
        asked.emplace_back(ids.begin(), ids.end());
        if (fail) return Error{ErrorCode::kUnavailable, ids[0] + ": is lost"};
        return grant;
    }

    grant::Grant grant;
    bool fail = false;
    std::vector<std::size_t> sizes;
    std::vector<std::string> offered;
    std::vector<std::string> needed;
    std::vector<std::vector<std::string>> asked;
};

TEST(ToProto, RegistersWithTheBytesThatKubeletKnows) {
    constexpr auto* kGolden =
        "0a0776316265746131120f6e76696469612d6770752e736f636b1a0e6e76696469612e636f6d2f677075220210"
        "01";
    EXPECT_EQ(hex(register_request("nvidia.com/gpu", "nvidia-gpu.sock").SerializeAsString()),
              kGolden);
    const auto request = parsed<v1beta1::RegisterRequest>(kGolden);
    EXPECT_TRUE(request.options().get_preferred_allocation_available());
    EXPECT_FALSE(request.options().pre_start_required());
}

TEST(ToProto, SendsNodeZeroAsAnEmptyNodeThatIsThere) {
    struct Case {
        grant::Device device;
        const char* golden;
    };
    const std::vector<Case> cases{
        {{"GPU-0::0", true, 1}, "0a190a084750552d303a3a3012074865616c7468791a040a020801"},
        {{"GPU-0::1", false, 0}, "0a190a084750552d303a3a311209556e6865616c7468791a020a00"},
        {{"GPU-0::0", true, std::nullopt}, "0a130a084750552d303a3a3012074865616c746879"},
    };
    for (const auto& example : cases) {
        EXPECT_EQ(hex(to_proto(std::span(&example.device, 1)).SerializeAsString()), example.golden);
        parsed<v1beta1::ListAndWatchResponse>(example.golden);
    }
    EXPECT_EQ(to_proto(std::span<const grant::Device>{}).SerializeAsString(), "");
}

TEST(ToProto, AnswersAllocateWithTheBytesThatKubeletReads) {
    RecordingDecider decider;
    decider.grant.environment["NVIDIA_VISIBLE_DEVICES"] = "GPU-0";
    decider.grant.cdi_devices = {"k8s.device-plugin.nvidia.com/gpu=GPU-0"};
    decider.grant.shares = {{.gpu_uuid = "GPU-0"}};  // not on the wire
    const auto request = parsed<v1beta1::AllocateRequest>("0a0a0a084750552d303a3a30");
    const auto response = allocate(decider, "nvidia.com/gpu", request);
    ASSERT_TRUE(response);
    EXPECT_THAT(decider.asked, ElementsAre(ElementsAre("GPU-0::0")));
    constexpr auto* kGolden =
        "0a4b0a1f0a164e56494449415f56495349424c455f4445564943455312054750552d302a280a266b38732e6465"
        "766963652d706c7567696e2e6e76696469612e636f6d2f6770753d4750552d30";
    EXPECT_EQ(hex(response->SerializeAsString()), kGolden);
    parsed<v1beta1::AllocateResponse>(kGolden);
}

TEST(ToProto, CarriesEveryPartOfAGrant) {
    grant::Grant grant;
    grant.mounts = {{"/in", "/host", false}, {"/in2", "/host2"}};
    grant.device_nodes = {{"/dev/nvidia0", "/host/dev/nvidia0", "rw"}};
    grant.annotations["cdi.k8s.io/x"] = "a/b=c";
    const auto answer = to_proto(grant);
    ASSERT_EQ(answer.mounts_size(), 2);
    EXPECT_EQ(answer.mounts(0).container_path(), "/in");
    EXPECT_EQ(answer.mounts(0).host_path(), "/host");
    EXPECT_FALSE(answer.mounts(0).read_only());
    EXPECT_TRUE(answer.mounts(1).read_only());
    ASSERT_EQ(answer.devices_size(), 1);
    EXPECT_EQ(answer.devices(0).container_path(), "/dev/nvidia0");
    EXPECT_EQ(answer.devices(0).host_path(), "/host/dev/nvidia0");
    EXPECT_EQ(answer.devices(0).permissions(), "rw");
    EXPECT_EQ(answer.annotations().at("cdi.k8s.io/x"), "a/b=c");
}

TEST(ToProto, AnswersEachContainerOrFailsAll) {
    RecordingDecider decider;
    v1beta1::AllocateRequest request;
    EXPECT_EQ(allocate(decider, "r", request)->container_responses_size(), 0);
    for (const auto* id : {"a", "b", "c"}) request.add_container_requests()->add_devices_ids(id);
    EXPECT_EQ(allocate(decider, "r", request)->container_responses_size(), 3);
    decider.fail = true;
    const auto failed = allocate(decider, "r", request);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(failed.error().message, "r: a: is lost");
}

TEST(Prefer, PassesOnWhatKubeletOffers) {
    RecordingDecider decider;
    const auto request = parsed<v1beta1::PreferredAllocationRequest>("0a0b0a01610a01621201611802");
    const auto response = prefer(decider, request);
    EXPECT_THAT(decider.offered, ElementsAre("a", "b"));
    EXPECT_THAT(decider.needed, ElementsAre("a"));
    ASSERT_EQ(response.container_responses_size(), 1);
    EXPECT_THAT(response.container_responses(0).deviceids(), ElementsAre("a", "b"));
}

TEST(Prefer, AnswersWhateverIsAsked) {
    using Limits = std::numeric_limits<std::int32_t>;
    RecordingDecider decider;
    v1beta1::PreferredAllocationRequest request;
    EXPECT_EQ(prefer(decider, request).container_responses_size(), 0);
    for (const auto size : {-1, 0, Limits::min(), Limits::max(), 3}) {
        auto& container = *request.add_container_requests();
        container.set_allocation_size(size);
        container.add_available_deviceids("a");
        container.add_must_include_deviceids("never heard of");
    }
    request.add_container_requests()->set_allocation_size(5);  // nothing to choose from
    const auto response = prefer(decider, request);
    ASSERT_EQ(response.container_responses_size(), 6);
    EXPECT_THAT(response.container_responses(0).deviceids(), IsEmpty());
    EXPECT_THAT(response.container_responses(3).deviceids(), ElementsAre("a"));
    EXPECT_THAT(decider.sizes, ElementsAre(2, 2, 0));  // never more than there is
}

}  // namespace
}  // namespace aliquot::kubelet
