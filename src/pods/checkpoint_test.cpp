// SPDX-License-Identifier: Apache-2.0
#include "pods/checkpoint.h"

#include <gmock/gmock.h>

namespace aliquot::pods {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// As kubelet 1.20 and newer write it: devices by NUMA node, -1 for none.
constexpr std::string_view kCurrent =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"8b0f2a6e-41d7-4c39-9a55-0de1c7f3b284",)"
    R"("ContainerName":"main","ResourceName":"nvidia.com/gpu",)"
    R"("DeviceIDs":{"0":["GPU-b::1","GPU-a::0"],"1":["GPU-a::0"]},"AllocResp":"Cg4KA0FCQxIHMQ=="},)"
    R"({"PodUID":"11111111-41d7-4c39-9a55-0de1c7f3b284","ContainerName":"main",)"
    R"("ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":["GPU-c::1"]},"AllocResp":null}],)"
    R"("RegisteredDevices":{"nvidia.com/gpu":["GPU-a::0","GPU-b::1","GPU-c::1"]}},)"
    R"("Checksum":2871430821})";

TEST(ParseCheckpoint, ReadsDevicesByNumaNode) {
    const auto entries = parse_checkpoint(kCurrent);
    ASSERT_TRUE(entries) << entries.error().message;
    EXPECT_THAT(*entries, ElementsAre(CheckpointEntry{"11111111-41d7-4c39-9a55-0de1c7f3b284",
                                                      "main",
                                                      "nvidia.com/gpu",
                                                      {"GPU-c::1"}},
                                      CheckpointEntry{"8b0f2a6e-41d7-4c39-9a55-0de1c7f3b284",
                                                      "main",
                                                      "nvidia.com/gpu",
                                                      {"GPU-a::0", "GPU-b::1"}}));
}

TEST(ParseCheckpoint, ReadsTheOlderFormWithAPlainList) {
    const auto entries = parse_checkpoint(
        R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"r/s",)"
        R"("DeviceIDs":["b","a"],"AllocResp":"AA=="}],"RegisteredDevices":{}},"Checksum":1})");
    ASSERT_TRUE(entries) << entries.error().message;
    EXPECT_THAT(*entries, ElementsAre(CheckpointEntry{"u", "c", "r/s", {"a", "b"}}));
}

TEST(ParseCheckpoint, ReadsAnEmptyOne) {
    const auto entries = parse_checkpoint(
        R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1})");
    ASSERT_TRUE(entries) << entries.error().message;
    EXPECT_THAT(*entries, IsEmpty());
}

TEST(ParseCheckpoint, PassesOverEntriesThatDoNotLookLikeOne) {
    const auto entries = parse_checkpoint(
        R"({"Data":{"PodDeviceEntries":[7,null,{},{"PodUID":1},)"
        R"({"PodUID":"","ContainerName":"c","ResourceName":"r","DeviceIDs":["a"]},)"
        R"({"PodUID":"u","ContainerName":"c","ResourceName":"r","DeviceIDs":"a"},)"
        R"({"PodUID":"u","ContainerName":"c","ResourceName":"r","DeviceIDs":{"0":7}},)"
        R"({"PodUID":"u","ContainerName":"c","ResourceName":"r","DeviceIDs":[1,"a",""]}]}})");
    ASSERT_TRUE(entries) << entries.error().message;
    EXPECT_THAT(*entries, ElementsAre(CheckpointEntry{"u", "c", "r", {"a"}}));
}

TEST(ParseCheckpoint, SaysWhatIsWrongWithAFile) {
    for (const std::string_view text :
         {"", "{", "[]", "null", R"({"Data":[]})", R"({"Data":{}})",
          R"({"Data":{"PodDeviceEntries":{}}})", R"({"Data":{"PodDeviceEntries":[]}} x)"}) {
        const auto entries = parse_checkpoint(text);
        ASSERT_FALSE(entries) << text;
        EXPECT_EQ(entries.error().code, ErrorCode::kInvalidInput);
        EXPECT_THAT(entries.error().message, HasSubstr("kubelet_internal_checkpoint: "));
    }
    const std::string large(kMostCheckpointBytes + 1, ' ');
    EXPECT_FALSE(parse_checkpoint(large));
    EXPECT_FALSE(parse_checkpoint(std::string(1'000'000, '[')));
}

}  // namespace
}  // namespace aliquot::pods
