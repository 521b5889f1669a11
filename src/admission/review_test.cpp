// SPDX-License-Identifier: Apache-2.0
#include "admission/review.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

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
                HasSubstr("'3Gb' is not an amount of memory"));
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

Json binding_review(const Json& metadata) {
    return {
        {"apiVersion", "admission.k8s.io/v1"},
        {"kind", "AdmissionReview"},
        {"request",
         {{"uid", "u-1"},
          {"operation", "CREATE"},
          {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
          {"subResource", "binding"},
          {"namespace", "team"},
          {"object", {{"metadata", metadata}, {"target", {{"kind", "Node"}, {"name", "a"}}}}}}}};
}

Json answer_binding(const Json& request,
                    const std::function<BindingAnswer(const BindingQuestion&)>& decide) {
    const Review answer = review_binding(request.dump(), decide);
    return Json::parse(answer.body, nullptr, false).value("response", Json::object());
}

TEST(BindingReview, PutsWhatIsAnsweredOnTheBinding) {
    const auto decide = [](const BindingQuestion& question) {
        EXPECT_EQ(question.name_space, "team");
        EXPECT_EQ(question.name, "p");
        EXPECT_EQ(question.uid, "u");
        EXPECT_EQ(question.node, "a");
        EXPECT_FALSE(question.dry_run);
        return BindingAnswer{.annotations = {{"aliquot.dev/plan", "{}"}}};
    };
    const Json bare{{"name", "p"}, {"uid", "u"}};
    Json told = bare;
    told["annotations"] = {{"other", "x"}};
    for (const Json& metadata : {bare, told}) {
        Json object = binding_review(metadata)["request"]["object"];
        const Json answer = answer_binding(binding_review(metadata), decide);
        EXPECT_EQ(answer["allowed"], true);
        const auto patch = decode_base64(answer["patch"].get<std::string>());
        ASSERT_TRUE(patch);
        const Json patched = object.patch(Json::parse(*patch));
        EXPECT_EQ(patched["metadata"]["annotations"]["aliquot.dev/plan"], "{}");
        EXPECT_EQ(patched["metadata"]["annotations"].contains("other"),
                  metadata.contains("annotations"));
    }
}

TEST(BindingReview, ARefusalIsAConflictWithItsReason) {
    const Json answer = answer_binding(binding_review({{"name", "p"}}), [](const BindingQuestion&) {
        return BindingAnswer{.allowed = false, .message = "node a has no room"};
    });
    EXPECT_EQ(answer["allowed"], false);
    EXPECT_EQ(answer["status"]["code"], 409);
    EXPECT_EQ(answer["status"]["reason"], "Conflict");
    EXPECT_EQ(answer["status"]["message"], "node a has no room");
}

TEST(BindingReview, WhatIsNoBindingOfAPodIsAllowedUnasked) {
    const auto never = [](const BindingQuestion&) -> BindingAnswer {
        ADD_FAILURE() << "was asked";
        return {.allowed = false};
    };
    Json others = binding_review({{"name", "p"}});
    Json pods = others;
    pods["request"].erase("subResource");
    Json updates = others;
    updates["request"]["operation"] = "UPDATE";
    Json no_target = others;
    no_target["request"]["object"].erase("target");
    Json other_target = others;
    other_target["request"]["object"]["target"]["kind"] = "Machine";
    Json no_object = others;
    no_object["request"]["object"] = 7;
    Json no_space = others;
    no_space["request"].erase("namespace");
    for (const Json& one : {pods, updates, no_target, other_target, no_object, no_space,
                            binding_review(Json::array()), binding_review({{"name", 5}})}) {
        const Json answer = answer_binding(one, never);
        EXPECT_EQ(answer.value("allowed", false), true) << one;
        EXPECT_FALSE(answer.contains("patch")) << one;
    }
    EXPECT_EQ(answer_binding(others, {})["allowed"], true) << "nobody judges";
    const Json failed = answer_binding(others, [](const BindingQuestion&) -> BindingAnswer {
        throw std::runtime_error("broken");
    });
    EXPECT_EQ(failed["allowed"], true);
    for (const std::string body : {"", "{", "[]", R"({"kind":"AdmissionReview"})"})
        EXPECT_EQ(review_binding(body, never).result, ReviewResult::kMalformed) << body;
    const std::string deep(100'000, '[');
    EXPECT_EQ(review_binding(deep, never).result, ReviewResult::kMalformed);
    EXPECT_EQ(review_binding(std::string(kMostReviewBytes + 1, ' '), never).result,
              ReviewResult::kMalformed);
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
