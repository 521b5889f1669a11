// SPDX-License-Identifier: Apache-2.0
#include "admission/gpu_type.h"

#include <gmock/gmock.h>

namespace aliquot::admission {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> keys(std::string_view word) {
    const auto type = find_type(word, {});
    EXPECT_TRUE(type) << type.error().message;
    std::vector<std::string> found;
    if (!type) return found;
    for (const auto* const model : type->models) found.emplace_back(model->key);
    return found;
}

TEST(GpuType, AWordWithoutMoreIsAllVariantsByMemoryAndForm) {
    EXPECT_THAT(keys("a100"), ElementsAre("a100-40", "a100-40-pcie", "a100-80", "a100-80-pcie"));
    EXPECT_THAT(keys("A100-80GB"), ElementsAre("a100-80", "a100-80-pcie"));
    EXPECT_THAT(keys("h100"), Contains("h100-nvl"));
    EXPECT_THAT(keys("a2"), ElementsAre("a2"));
    EXPECT_THAT(keys("NVIDIA-A100-SXM4-80GB"), ElementsAre("a100-80"));
}

TEST(GpuType, ANeighbourInTheSameSeriesIsAnotherType) {
    EXPECT_THAT(keys("rtx-3060"), ElementsAre("rtx-3060"));
    EXPECT_THAT(keys("gtx 1070"), ElementsAre("gtx-1070"));
    EXPECT_THAT(keys("3090"), ElementsAre("rtx-3090"));
    EXPECT_THAT(keys("h20"), ElementsAre("h20", "h20-141"));
}

TEST(GpuType, AnUnknownWordIsRefusedWithTheNearest) {
    const auto type = find_type("a1000000", {});
    ASSERT_FALSE(type);
    EXPECT_THAT(type.error().message, HasSubstr("is not a type of GPU"));
    const auto near = find_type("gtx1071", {});
    ASSERT_FALSE(near);
    EXPECT_THAT(near.error().message, HasSubstr("did you mean 'gtx-1070'?"));
}

TEST(GpuType, AProductThatOnlyTheNodesKnowIsAType) {
    const auto node = read_node(
        R"({"metadata":{"name":"n","labels":{"nvidia.com/gpu.product":"NVIDIA-Z9-SHARED"}},
            "status":{"allocatable":{"nvidia.com/gpu":"2"}}})");
    ASSERT_TRUE(node);
    const Cluster cluster{std::make_shared<const GpuNode>(*node)};
    const auto type = find_type("nvidia-z9", cluster);
    ASSERT_TRUE(type) << type.error().message;
    EXPECT_TRUE(type->fits(*node));
    EXPECT_FALSE(find_type("z8", cluster));
}

TEST(GpuType, HasTheProductsThatLabelsHave) {
    const auto a100 = usual_products(*find_type("a100-80", {}));
    EXPECT_THAT(a100, Contains("NVIDIA-A100-SXM4-80GB"));
    EXPECT_THAT(a100, Contains("NVIDIA-A100-SXM4-80GB-SHARED"));
    EXPECT_THAT(usual_products(*find_type("gtx-1070", {})), Contains("NVIDIA-GeForce-GTX-1070"));
    EXPECT_THAT(usual_products(*find_type("t4", {})), Contains("Tesla-T4"));
    EXPECT_THAT(usual_products(*find_type("v100", {})), Contains("Tesla-V100-SXM2-16GB"));
}

}  // namespace
}  // namespace aliquot::admission
