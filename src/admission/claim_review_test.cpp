// SPDX-License-Identifier: Apache-2.0
#include "admission/claim_review.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "admission/claim_request.h"
#include "base/base64.h"

namespace aliquot::admission {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

Json ask(const Json& metadata, const Json& spec) {
    const Json request{{"apiVersion", "admission.k8s.io/v1"},
                       {"kind", "AdmissionReview"},
                       {"request",
                        {{"uid", "u-1"},
                         {"operation", "CREATE"},
                         {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
                         {"object", {{"metadata", metadata}, {"spec", spec}}}}}};
    const Review answer = review_claim(request.dump(), [] { return std::string("aq-1"); });
    return Json::parse(answer.body)["response"];
}

Json patched(const Json& metadata, const Json& spec) {
    const Json answer = ask(metadata, spec);
    EXPECT_EQ(answer["allowed"], true) << answer;
    if (!answer.contains("patch")) return nullptr;
    const auto patch = decode_base64(answer["patch"].get<std::string>());
    return Json{{"metadata", metadata}, {"spec", spec}}.patch(Json::parse(*patch));
}

const Json kWish{{"annotations", {{"aliquot.dev/claim", "memory=3Gi,compute=25"}}}};

TEST(ClaimReview, NamesAClaimThatDoesNotExistYet) {
    const Json pod = patched(kWish, {{"containers", {{{"name", "main"}}, {{"name", "side"}}}}});
    EXPECT_EQ(pod["spec"]["resourceClaims"],
              Json::array({{{"name", "aliquot"}, {"resourceClaimName", "aq-1"}}}));
    EXPECT_EQ(pod["spec"]["containers"][0]["resources"]["claims"],
              Json::array({{{"name", "aliquot"}}}));
    EXPECT_FALSE(pod["spec"]["containers"][1].contains("resources"));
    EXPECT_EQ(pod["metadata"]["labels"]["aliquot.dev/claim"], "pinned");
}

TEST(ClaimReview, AddsToWhatThePodHas) {
    Json metadata = kWish;
    metadata["labels"] = {{"app", "x"}};
    metadata["annotations"]["aliquot.dev/claim-container"] = "side";
    const Json spec{
        {"resourceClaims", {{{"name", "nic"}, {"resourceClaimName", "n"}}}},
        {"containers",
         {{{"name", "main"}},
          {{"name", "side"},
           {"resources", {{"limits", {{"cpu", "1"}}}, {"claims", {{{"name", "nic"}}}}}}}}}};
    const Json pod = patched(metadata, spec);
    EXPECT_EQ(pod["spec"]["resourceClaims"].size(), 2U);
    EXPECT_EQ(pod["spec"]["containers"][1]["resources"]["claims"],
              Json::array({{{"name", "nic"}}, {{"name", "aliquot"}}}));
    EXPECT_EQ(pod["metadata"]["labels"], Json({{"app", "x"}, {"aliquot.dev/claim", "pinned"}}));
}

TEST(ClaimReview, LeavesOtherPodsAlone) {
    const Json spec{{"containers", {{{"name", "main"}}}}};
    EXPECT_TRUE(patched(Json::object(), spec).is_null());
    Json bound = spec;
    bound["nodeName"] = "n";
    EXPECT_TRUE(patched(kWish, bound).is_null());
    Json again = spec;
    again["resourceClaims"] = {{{"name", "aliquot"}, {"resourceClaimName", "aq-0"}}};
    EXPECT_TRUE(patched(kWish, again).is_null()) << "the webhook may be asked twice";
}

TEST(ClaimReview, RefusesAWishThatIsWrong) {
    const Json spec{{"containers", {{{"name", "main"}}}}};
    for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
             {"memory=3Gb", "memory is not an amount"},
             {"memory=0", "memory is not an amount"},
             {"compute=25", "it names no memory"},
             {"memory=3Gi,compute=101", "compute is not a percentage"},
             {"memory=3Gi,memory=4Gi", "'memory' is not understood"},
             {"3Gi", "'3Gi' is not understood"}}) {
        const Json answer = ask({{"annotations", {{"aliquot.dev/claim", text}}}}, spec);
        EXPECT_EQ(answer["allowed"], false) << text;
        EXPECT_THAT(answer["status"]["message"].get<std::string>(), HasSubstr(why));
    }
    Json metadata = kWish;
    metadata["annotations"]["aliquot.dev/claim-container"] = "none";
    EXPECT_THAT(ask(metadata, spec)["status"]["message"].get<std::string>(),
                HasSubstr("the pod has no container 'none'"));
}

TEST(ClaimRequest, IsAPartOrAWholeGpu) {
    EXPECT_TRUE(parse_claim_request("gpu")->is_whole());
    EXPECT_EQ(*parse_claim_request(" compute = 0 , memory = 3.5Gi "),
              (ClaimRequest{.memory_bytes = 3758096384, .compute_percent = 0}));
    EXPECT_EQ(parse_claim_request("memory=1Gi")->percent(), 100U);
    EXPECT_EQ(*parse_claim_request("gpu,count=4"), (ClaimRequest{.count = 4}));
    EXPECT_EQ(*parse_claim_request("mig=1g.10gb+me, count=2"),
              (ClaimRequest{.mig_profile = "1g.10gb+me", .count = 2}));
    for (const char* const wrong :
         {"count=2", "gpu,mig=1g.5gb", "gpu,count=0", "gpu,count=17", "mig=", "mig=half",
          "mig=1g.5gb\" || true", "mig=1g.5gb,compute=5", "gpu,compute=5", "gpu,gpu"}) {
        EXPECT_FALSE(parse_claim_request(wrong)) << wrong;
    }
}

TEST(ClaimNames, CannotBeGuessed) {
    const std::string one = random_claim_name();
    EXPECT_EQ(one.size(), 19U);
    EXPECT_TRUE(one.starts_with("aq-"));
    EXPECT_NE(one, random_claim_name());
}

}  // namespace
}  // namespace aliquot::admission
