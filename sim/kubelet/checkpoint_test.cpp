// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::sim {
namespace {

TEST(Checkpoint, SurvivesTheFile) {
    for (const auto* response : {"", "a", "ab", "abc", "\x01\xff\x00tail"}) {
        const Checkpoint written{
            .entries = {{.pod_uid = "uid-1",
                         .container = "main",
                         .resource = "nvidia.com/gpu",
                         .ids_by_numa = {{kNoNumaNode, {"GPU-0"}}, {1, {"GPU-1", "GPU-2"}}},
                         .response = response}},
            .registered = {{"nvidia.com/gpu", {"GPU-0", "GPU-1"}}, {"nvidia.com/none", {}}}};
        const auto read = parse_checkpoint(to_json(written));
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(*read, written);
    }
}

TEST(Checkpoint, LooksLikeKubelets) {
    const Checkpoint checkpoint{.entries = {{.pod_uid = "u",
                                             .container = "c",
                                             .resource = "r/n",
                                             .ids_by_numa = {{0, {"d"}}},
                                             .response = "abc"}},
                                .registered = {{"r/n", {"d"}}}};
    EXPECT_THAT(to_json(checkpoint),
                testing::StartsWith(R"({"Data":{"PodDeviceEntries":[{"PodUID":"u",)"
                                    R"("ContainerName":"c","ResourceName":"r/n",)"
                                    R"("DeviceIDs":{"0":["d"]},"AllocResp":"YWJj"}],)"
                                    R"("RegisteredDevices":{"r/n":["d"]}},"Checksum":)"));
}

TEST(Checkpoint, OfARealKubeletIsRead) {
    const auto read = parse_checkpoint(
        R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"nvidia.com/gpu":null}},)"
        R"("Checksum":1234})");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->entries.empty());
    EXPECT_TRUE(read->registered.contains("nvidia.com/gpu"));
}

TEST(Checkpoint, RefusesWhatIsNotOne) {
    for (const auto* text :
         {"", "{", "[]", "{}", R"({"Data":{}})",
          R"({"Data":{"PodDeviceEntries":[{"PodUID":1}],"RegisteredDevices":{}}})",
          R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"r",)"
          R"("DeviceIDs":{"x":[]},"AllocResp":""}],"RegisteredDevices":{}}})",
          R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"r",)"
          R"("DeviceIDs":{},"AllocResp":"!"}],"RegisteredDevices":{}}})"}) {
        const auto read = parse_checkpoint(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().code, ErrorCode::kInvalidInput) << text;
    }
}

}  // namespace
}  // namespace aliquot::sim
