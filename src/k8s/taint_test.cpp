// SPDX-License-Identifier: Apache-2.0
#include "k8s/taint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/yaml.h"

namespace aliquot::k8s {
namespace {

using ::testing::HasSubstr;

TEST(ATaint, IsReadAsKubectlTakesIt) {
    const auto taint = parse_taint("nvidia.com/gpu=true:NoSchedule");
    ASSERT_TRUE(taint);
    EXPECT_EQ(*taint, (Taint{"nvidia.com/gpu", "true", "NoSchedule"}));
    EXPECT_EQ(to_text(*taint), "nvidia.com/gpu=true:NoSchedule");
    EXPECT_EQ(parse_taint("gpu:NoExecute")->value, "");
    for (const char* const text : {"", "gpu", "gpu=true", "gpu=true:Never", "=x:NoSchedule",
                                   "a b=c:NoSchedule", "a=b c:NoSchedule", "A/b/c=d:NoSchedule"}) {
        const auto wrong = parse_taint(text);
        ASSERT_FALSE(wrong) << text;
        EXPECT_THAT(wrong.error().message, HasSubstr("expected KEY=VALUE:EFFECT"));
    }
}

// The facts of TestTolerationToleratesTaint of k8s.io/api.
TEST(AToleration, IsHeldAgainstATaintAsKubernetesDoes) {
    const Taint taint{"foo", "bar", "NoSchedule"};
    EXPECT_TRUE(tolerates({"foo", "Exists", "", "NoSchedule"}, taint));
    EXPECT_TRUE(tolerates({"", "Exists", "", "NoSchedule"}, taint));
    EXPECT_TRUE(tolerates({"foo", "Exists", "", ""}, taint));
    EXPECT_TRUE(tolerates({"foo", "Equal", "bar", "NoSchedule"}, taint));
    EXPECT_TRUE(tolerates({"foo", "", "bar", "NoSchedule"}, taint));
    EXPECT_FALSE(tolerates({"foo", "Equal", "baz", "NoSchedule"}, taint));
    EXPECT_FALSE(tolerates({"foo", "Exists", "", "NoExecute"}, taint));
    EXPECT_FALSE(tolerates({"other", "Exists", "", ""}, taint));
    EXPECT_FALSE(tolerates({"foo", "Near", "bar", ""}, taint));
    EXPECT_TRUE(tolerates({"foo", "", "", "NoSchedule"}, {"foo", "", "NoSchedule"}));
    EXPECT_FALSE(tolerates(std::vector<Toleration>{}, taint));
}

TEST(AToleration, IsReadFromAPod) {
    const auto read = document::parse_yaml(
        "tolerations:\n- {key: gpu, operator: Exists}\n- {key: team, value: vision, effect: "
        "NoExecute}\n"
        "taints:\n- {key: team, value: vision, effect: NoExecute, timeAdded: null}\n- {key: gpu, "
        "value: null, effect: PreferNoSchedule}\n");
    ASSERT_EQ(read.documents.size(), 1U);
    const document::Value* const spec = read.documents.data();
    const auto tolerations = read_tolerations(spec->find("tolerations"));
    const auto taints = read_taints(spec->find("taints"));
    ASSERT_EQ(taints.size(), 2U);
    EXPECT_EQ(taints[1], (Taint{"gpu", "", "PreferNoSchedule"}));
    EXPECT_TRUE(tolerates(tolerations, taints[0]));
    EXPECT_TRUE(taints[0].keeps_away());
    EXPECT_FALSE(taints[1].keeps_away());
    EXPECT_FALSE(tolerates(tolerations, {"team", "vision", "NoSchedule"}));
}

}  // namespace
}  // namespace aliquot::k8s
