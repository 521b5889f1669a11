// SPDX-License-Identifier: Apache-2.0
#include "admission/review.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/base64.h"

namespace aliquot::admission {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

Cluster one_node() {
    const auto node = read_node(R"({"metadata":{"name":"a2","labels":{
        "nvidia.com/gpu.product":"NVIDIA-A2","nvidia.com/gpu.memory":"15356"},
        "annotations":{"aliquot.dev/shares":
          "[{\"resource\":\"nvidia.com/gpu\",\"mechanism\":\"none\",\"devices\":2,\"perGpu\":1,\"memoryMiB\":15356}]"}},
        "status":{"allocatable":{"nvidia.com/gpu":"2"}}})");
    return {std::make_shared<const GpuNode>(node.value_or(GpuNode{}))};
}

Json review_of(const Json& annotations) {
    return {{"apiVersion", "admission.k8s.io/v1"},
            {"kind", "AdmissionReview"},
            {"request",
             {{"uid", "u-1"},
              {"operation", "CREATE"},
              {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
              {"object",
               {{"metadata", {{"name", "p"}, {"annotations", annotations}}},
                {"spec", {{"containers", {{{"name", "main"}}}}}}}}}}};
}

Json response(const Json& request) {
    const Cluster cluster = one_node();
    const Review answer = review(request.dump(), &cluster, {});
    const Json root = Json::parse(answer.body, nullptr, false);
    EXPECT_EQ(root.value("kind", ""), "AdmissionReview") << answer.body;
    return root.value("response", Json::object());
}

TEST(Review, AnswersWithAPatchUnderTheSameUid) {
    const Json answer = response(review_of({{"aliquot.dev/gpu-memory", "3Gi"}}));
    EXPECT_EQ(answer["uid"], "u-1");
    EXPECT_EQ(answer["allowed"], true);
    EXPECT_EQ(answer["patchType"], "JSONPatch");
    // Base64 of: [{"op":
    EXPECT_THAT(answer["patch"].get<std::string>(), StartsWith("W3sib3AiO"));
    EXPECT_FALSE(answer.contains("warnings"));
}

TEST(Review, RefusesWhatIsWrittenWrongly) {
    const Json answer = response(review_of({{"aliquot.dev/gpu-memory", "3Gb"}}));
    EXPECT_EQ(answer["allowed"], false);
    EXPECT_EQ(answer["status"]["code"], 400);
    EXPECT_THAT(answer["status"]["message"].get<std::string>(),
                HasSubstr("'3Gb' is no amount of memory"));
}

TEST(Review, LetsEverythingElsePass) {
    Json other = review_of({{"aliquot.dev/gpu-memory", "3Gb"}});
    other["request"]["operation"] = "UPDATE";
    EXPECT_EQ(response(other)["allowed"], true);
    other = review_of({{"aliquot.dev/gpu-memory", "3Gb"}});
    other["request"]["resource"]["resource"] = "services";
    EXPECT_EQ(response(other)["allowed"], true);
    other = review_of({});
    other["request"]["object"] = "no pod";
    const Json answer = response(other);
    EXPECT_EQ(answer["allowed"], true);
    EXPECT_EQ(answer["warnings"].size(), 1U);
}

TEST(Review, BeforeTheNodesAreKnownPodsPass) {
    const Review answer =
        review(review_of({{"aliquot.dev/gpu-memory", "3Gi"}}).dump(), nullptr, {});
    EXPECT_EQ(answer.result, ReviewResult::kFailed);
    EXPECT_THAT(answer.body, HasSubstr("\"allowed\":true"));
    EXPECT_THAT(answer.body, HasSubstr("the nodes are not known yet"));
}

Json gate_answer(const Json& pod_spec, bool known = true) {
    Json request = review_of({});
    request["request"]["object"]["spec"] = pod_spec;
    const Review answer = review_gate(
        request.dump(), known ? [](const std::string& name) { return name == "nvidia.com/gpu"; }
                              : std::function<bool(const std::string&)>());
    const Json response = Json::parse(answer.body)["response"];
    EXPECT_EQ(response["allowed"], true);
    if (response.contains("warnings")) return response["warnings"];
    if (!response.contains("patch")) return nullptr;
    return Json::parse(decode_base64(response["patch"].get<std::string>()).value_or(""));
}

Json spec_asking(const Json& resources, const char* list = "containers") {
    Json spec{{"containers", Json::array({{{"name", "a"}}})}};
    spec[list] = Json::array({{{"name", "main"}, {"resources", resources}}});
    return spec;
}

TEST(Gate, IsPutOnPodsThatAskForWhatWePlace) {
    const Json one = spec_asking({{"limits", {{"nvidia.com/gpu", "1"}}}});
    const Json patch = gate_answer(one);
    ASSERT_EQ(patch.size(), 1U);
    EXPECT_EQ(patch[0]["op"], "add");
    EXPECT_EQ(patch[0]["path"], "/spec/schedulingGates");
    EXPECT_EQ(patch[0]["value"], Json::array({{{"name", kPlacementGate}}}));
    EXPECT_FALSE(gate_answer(spec_asking({{"requests", {{"nvidia.com/gpu", 2}}}}, "initContainers"))
                     .is_null());
    Json gated = one;
    gated["schedulingGates"] = Json::array({{{"name", "example.com/other"}}});
    EXPECT_EQ(gate_answer(gated)[0]["path"], "/spec/schedulingGates/-");
}

TEST(Gate, IsNotPutOnAnythingElse) {
    EXPECT_TRUE(gate_answer(spec_asking({{"limits", {{"cpu", "1"}}}})).is_null());
    EXPECT_TRUE(gate_answer(spec_asking({{"limits", {{"nvidia.com/gpu", "0"}}}})).is_null());
    Json placed = spec_asking({{"limits", {{"nvidia.com/gpu", "1"}}}});
    placed["nodeName"] = "gpu-1";
    EXPECT_TRUE(gate_answer(placed).is_null());
    Json gated = spec_asking({{"limits", {{"nvidia.com/gpu", "1"}}}});
    gated["schedulingGates"] = Json::array({{{"name", kPlacementGate}}});
    EXPECT_TRUE(gate_answer(gated).is_null());
    for (const Json& odd : {Json("text"), Json(nullptr), Json::array({1}), Json{{"containers", 7}},
                            spec_asking(Json::array()), spec_asking({{"limits", "many"}})}) {
        EXPECT_TRUE(gate_answer(odd).is_null()) << odd;
    }
}

TEST(Gate, BeforeTheNodesAreKnownPodsPass) {
    const Json warnings = gate_answer(spec_asking({{"limits", {{"nvidia.com/gpu", "1"}}}}), false);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_THAT(warnings[0].get<std::string>(), HasSubstr("the nodes are not known yet"));
}

TEST(Review, WhatIsNoneIsToldToThePeerOnly) {
    const auto why = [](std::string_view body) {
        const Review answer = review(body, nullptr, {});
        EXPECT_EQ(answer.result, ReviewResult::kMalformed);
        return answer.body;
    };
    EXPECT_THAT(why(""), HasSubstr("no AdmissionReview"));
    EXPECT_THAT(why(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"})"),
                HasSubstr("not of version"));
    EXPECT_THAT(why(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})"),
                HasSubstr("no uid"));
    EXPECT_THAT(why(std::string(1'000'000, '[')), HasSubstr("nested deeper"));
    EXPECT_THAT(why(std::string(kMostReviewBytes + 1, ' ')), HasSubstr("larger than 3 MiB"));
}

}  // namespace
}  // namespace aliquot::admission
