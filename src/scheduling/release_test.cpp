// SPDX-License-Identifier: Apache-2.0
#include "scheduling/release.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aliquot::scheduling {
namespace {

using Json = nlohmann::json;

const Plan kPlan{.generation = 3, .targets = {{"n1", {}}, {"n2", {}}}};
const std::map<std::string, std::string> kHostnames{{"n1", "host-1"}, {"n2", "host-2"}};

Json pod(const std::string& affinity) {
    Json made =
        Json::parse(R"({"metadata":{"name":"p","resourceVersion":"42"},"spec":{"schedulingGates":
        [{"name":"other"},{"name":"aliquot.dev/placement"}],"containers":[]}})");
    if (!affinity.empty()) made["spec"]["affinity"] = Json::parse(affinity);
    return made;
}

Json released(const Json& object, const Plan& plan = kPlan,
              const std::map<std::string, std::string>& names = kHostnames) {
    const auto patch = release_patch(object.dump(), plan, names);
    EXPECT_TRUE(patch) << patch.error().message;
    return patch ? object.patch(Json::parse(*patch)) : Json();
}

Json terms_of(const Json& object) {
    return object.at(
        "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"_json_pointer);
}

TEST(Release, NamesEachNodeInATermOfItsOwnAndTakesOnlyOurGateAway) {
    const Json after = released(pod(""));
    EXPECT_EQ(terms_of(after), Json::parse(R"([
        {"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]},
        {"matchFields":[{"key":"metadata.name","operator":"In","values":["n2"]}]}])"));
    EXPECT_EQ(after["spec"]["schedulingGates"], Json::parse(R"([{"name":"other"}])"));
    EXPECT_EQ(parse_plan(after["metadata"]["annotations"]["aliquot.dev/plan"].get<std::string>()),
              kPlan);
}

TEST(Release, NarrowsEachTermThatThePodHas) {
    const Json after = released(pod(
        R"({"podAffinity":{},"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[],
        "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
          {"matchExpressions":[{"key":"zone","operator":"Exists"}]},{},
          {"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n9"]}]}]}}})"));
    const Json hosts = Json::parse(
        R"({"key":"kubernetes.io/hostname","operator":"In","values":["host-1","host-2"]})");
    const Json terms = terms_of(after);
    ASSERT_EQ(terms.size(), 3U);
    EXPECT_EQ(terms[0]["matchExpressions"][1], hosts);
    EXPECT_TRUE(terms[1].empty());
    EXPECT_EQ(terms[2]["matchExpressions"][0], hosts);
    EXPECT_TRUE(after["spec"]["affinity"].contains("podAffinity"));
}

TEST(Release, TakesTheFirstNodesNameWhereHostnamesDoNotTellTwo) {
    const Json after =
        released(pod(R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"Exists"}]}]}}})"),
                 kPlan, {{"n1", "host-1"}});
    EXPECT_EQ(terms_of(after)[0]["matchFields"],
              Json::parse(R"([{"key":"metadata.name","operator":"In","values":["n1"]}])"));
}

TEST(Release, KeepsWhatElseStandsInTheAffinity) {
    const Json after = released(pod(
        R"({"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}]}})"));
    EXPECT_EQ(terms_of(after).size(), 2U);
    EXPECT_EQ(
        after["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
            .size(),
        1U);
    EXPECT_EQ(terms_of(released(pod(R"({"podAntiAffinity":{}})"))).size(), 2U);
}

TEST(Release, WithoutTargetsOnlyOpensTheGate) {
    const Json before = pod("");
    const Json after = released(before, Plan{});
    EXPECT_FALSE(after["spec"].contains("affinity"));
    EXPECT_FALSE(after["metadata"].contains("annotations"));
    EXPECT_EQ(after["spec"]["schedulingGates"].size(), 1U);
}

TEST(Release, HoldsForThisVersionOnly) {
    const Json before = pod("");
    const auto patch = release_patch(before.dump(), kPlan, kHostnames);
    ASSERT_TRUE(patch);
    Json newer = before;
    newer["metadata"]["resourceVersion"] = "43";
    EXPECT_THROW((void)newer.patch(Json::parse(*patch)), Json::exception);
}

TEST(Release, RefusesWhatIsNotGatedByUs) {
    EXPECT_FALSE(release_patch("[]", kPlan, {}));
    EXPECT_FALSE(release_patch("{", kPlan, {}));
    EXPECT_FALSE(release_patch(R"({"spec":{"schedulingGates":[{"name":"other"}]}})", kPlan, {}));
}

TEST(Release, IsForgottenByThePodThatComesNext) {
    const std::map<std::string, std::string> one_host{{"n1", "host-1"}};
    for (const std::string affinity :
         {"", R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
              {"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"Exists"}]},
              {"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["x"]}]},
              {"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n9"]}]}]}}})"}) {
        for (const auto& hosts : {kHostnames, one_host}) {
            Json object = pod(affinity);
            object["metadata"]["uid"] = "u";
            object["spec"]["nodeSelector"] = {{"disk", "fast"}};
            const auto before = read_gpu_pod(object.dump());
            Json after = released(object, kPlan, hosts);
            after["spec"]["nodeName"] = "n2";
            const auto bound = read_gpu_pod(after.dump());
            ASSERT_TRUE(before && bound);
            EXPECT_FALSE(bound->where.matches("other", {{"disk", "fast"}, {"zone", "a"}}));
            const auto own = own_rules(*bound, hosts);
            EXPECT_EQ(own.has_terms, before->where.has_terms);
            EXPECT_EQ(own.labels, before->where.labels);
            EXPECT_TRUE(own.matches("other", {{"disk", "fast"}, {"zone", "a"}}));
            EXPECT_FALSE(own.matches("other", {{"zone", "a"}}));
            ASSERT_EQ(own.terms.size(), before->where.terms.size());
            for (std::size_t i = 0; i < own.terms.size(); ++i) {
                EXPECT_EQ(own.terms[i].labels, before->where.terms[i].labels) << i;
                EXPECT_EQ(own.terms[i].fields, before->where.terms[i].fields) << i;
            }
        }
    }
}

}  // namespace
}  // namespace aliquot::scheduling
