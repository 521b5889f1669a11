// SPDX-License-Identifier: Apache-2.0
#include "pins/pinned_pod.h"

#include <gtest/gtest.h>

#include "pins/test_world.h"

namespace aliquot::pins {
namespace {

TEST(PinnedPod, IsOneWithAClaimThatTheWebhookHasNamed) {
    const PinnedPod pod = test_pod({.name = "p", .request = "memory=3Gi,compute=25"});
    EXPECT_EQ(pod.claim, "aq-p");
    EXPECT_EQ(pod.request.percent(), 25U);
    for (const char* const json :
         {"", "7", "{}", R"({"metadata":{"uid":"u"}})",
          R"({"metadata":{"uid":"u","annotations":{"aliquot.dev/claim":"gpu"}},"spec":{}})",
          R"({"metadata":{"uid":"u","annotations":{"aliquot.dev/claim":"gpu"}},"spec":{)"
          R"("resourceClaims":[{"name":"aliquot","resourceClaimName":"mine"}]}})",
          R"({"metadata":{"uid":"u","annotations":{"aliquot.dev/claim":"much"}},"spec":{)"
          R"("resourceClaims":[{"name":"aliquot","resourceClaimName":"aq-1"}]}})"}) {
        EXPECT_FALSE(read_pinned_pod(json)) << json;
    }
}

TEST(KnownClaim, ReadsBackWhatWasWritten) {
    const PinnedPod pod = test_pod({.name = "p"});
    const auto known = read_known_claim(claim_object(pod, 3, {"GPU-a", "GPU-b"}, true));
    ASSERT_TRUE(known);
    EXPECT_EQ(known->claim.full_name(), "ai/aq-p");
    EXPECT_EQ(known->owner, "u-p");
    EXPECT_EQ(known->tries, 3U);
    EXPECT_EQ(known->gpus, (std::vector<std::string>{"GPU-a", "GPU-b"}));
    EXPECT_EQ(read_known_claim(R"({"metadata":{"name":"x"}})")->tries, 0U);
    EXPECT_FALSE(read_known_claim("{"));
}

TEST(PlainUuid, HoldsNothingThatAnExpressionCouldUse) {
    EXPECT_TRUE(is_plain_uuid("GPU-8f2c9a44-0f0e"));
    EXPECT_FALSE(is_plain_uuid(""));
    EXPECT_FALSE(is_plain_uuid("GPU\" || true"));
}

}  // namespace
}  // namespace aliquot::pins
