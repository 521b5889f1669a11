// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/patch.h"

#include <gtest/gtest.h>

namespace aliquot::sim::apiserver {
namespace {

Value json(const std::string& text) {
    auto parsed = parse_json(text);
    EXPECT_TRUE(parsed) << text;
    return parsed ? parsed->value : Value();
}

struct PatchCase {
    const char* document;
    const char* patch;
    const char* result;  // nullptr: it cannot be done
};

TEST(JsonPatch, DoesEveryOperation) {
    const PatchCase cases[] = {
        {R"({"a":1})", R"([{"op":"add","path":"/b","value":[1]}])", R"({"a":1,"b":[1]})"},
        {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
        {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
        {R"({"a":[1]})", R"([{"op":"add","path":"/a/3","value":2}])", nullptr},
        {R"({"a":[1]})", R"([{"op":"add","path":"/a/01","value":2}])", nullptr},
        {R"({"a":1})", R"([{"op":"add","path":"/x/y","value":2}])", nullptr},
        {R"({"a":1,"b":2})", R"([{"op":"remove","path":"/a"}])", R"({"b":2})"},
        {R"({"a":[1,2,3]})", R"([{"op":"remove","path":"/a/1"}])", R"({"a":[1,3]})"},
        {R"({"a":1})", R"([{"op":"remove","path":"/b"}])", nullptr},
        {R"({"a":1})", R"([{"op":"replace","path":"/a","value":{"x":[]}}])", R"({"a":{"x":[]}})"},
        {R"({"a":1})", R"([{"op":"replace","path":"/b","value":1}])", nullptr},
        {R"({"a":1})", R"([{"op":"replace","path":"","value":[]}])", R"([])"},
        {R"({"a":{"b":1},"c":{}})", R"([{"op":"move","from":"/a/b","path":"/c/d"}])",
         R"({"a":{},"c":{"d":1}})"},
        {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b/c"}])", nullptr},
        {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])",
         R"({"a":{"b":1},"c":{"b":1}})"},
        {R"({"a/b":1,"c~d":2})",
         R"([{"op":"remove","path":"/a~1b"},{"op":"remove","path":"/c~0d"}])", R"({})"},
        {R"({"a":1})", R"([{"op":"remove","path":"/a~2"}])", nullptr},
        {R"({"":1})", R"([{"op":"replace","path":"/","value":2}])", R"({"":2})"},
        {R"({"a":1})", R"([{"op":"test","path":"/a","value":1.0}])", R"({"a":1})"},
        {R"({"a":1})", R"([{"op":"test","path":"/a","value":"1"}])", nullptr},
        {R"({"a":1})", R"([{"op":"frob","path":"/a"}])", nullptr},
        {R"({"a":1})", R"([{"op":"add","path":"/a"}])", nullptr},
        {R"({"a":1})", R"({"op":"remove"})", nullptr},
    };
    for (const PatchCase& one : cases) {
        const auto made = apply_json_patch(json(one.document), json(one.patch));
        ASSERT_EQ(made.ok(), one.result != nullptr) << one.document << " " << one.patch;
        if (made) {
            EXPECT_EQ(*made, json(one.result)) << one.patch << " gave " << to_json(*made);
        }
    }
}

TEST(JsonPatch, TellsAFailedTestFromABrokenPatch) {
    const Value document = json(R"({"a":1})");
    const auto failed =
        apply_json_patch(document, json(R"([{"op":"test","path":"/a","value":2}])"));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kConflict);
    const auto broken = apply_json_patch(document, json(R"([{"op":"remove","path":"a"}])"));
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, ErrorCode::kInvalidInput);
}

TEST(JsonPatch, ThatIsMadeOfTwoValuesLeadsFromOneToTheOther) {
    const Value before = json(R"({"a":{"b/c":1,"d":[1,2]},"e":null,"f":"x"})");
    const Value after = json(R"({"a":{"d":[2],"g":{}},"f":"x","h~":1})");
    const auto made = apply_json_patch(before, make_json_patch(before, after));
    ASSERT_TRUE(made);
    EXPECT_EQ(*made, after);
    EXPECT_TRUE(make_json_patch(after, after).empty());
}

TEST(MergePatch, FollowsTheRulesOfRfc7386) {
    const PatchCase cases[] = {
        {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
        {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
        {R"({"a":"b"})", R"({"a":null})", R"({})"},
        {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
        {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
        {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
        {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
        {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
        {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
    };
    for (const PatchCase& one : cases) {
        Value document = json(one.document);
        apply_merge_patch(document, json(one.patch));
        EXPECT_EQ(document, json(one.result)) << one.patch << " gave " << to_json(document);
    }
}

Value strategic(const std::string& document, const std::string& patch, const char* type) {
    const auto made =
        apply_strategic_patch(json(document), json(patch), *TypeTable::built_in().find(type));
    return made ? *made : Value(made.error().message);
}

TEST(StrategicPatch, MergesListsByTheirKeys) {
    EXPECT_EQ(strategic(R"({"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"}]})",
                        R"({"containers":[{"name":"b","image":"3"},{"name":"c","image":"4"}]})",
                        "core.v1.PodSpec"),
              json(R"({"containers":[{"name":"a","image":"1"},{"name":"b","image":"3"},
                                     {"name":"c","image":"4"}]})"));
}

TEST(StrategicPatch, ReplacesListsWithoutAKey) {
    EXPECT_EQ(strategic(R"({"tolerations":[{"key":"a"}]})", R"({"tolerations":[{"key":"b"}]})",
                        "core.v1.PodSpec"),
              json(R"({"tolerations":[{"key":"b"}]})"));
}

TEST(StrategicPatch, ObeysItsDirectives) {
    const std::string two = R"({"containers":[{"name":"a"},{"name":"b"}]})";
    EXPECT_EQ(
        strategic(two, R"({"containers":[{"$patch":"delete","name":"a"}]})", "core.v1.PodSpec"),
        json(R"({"containers":[{"name":"b"}]})"));
    EXPECT_EQ(
        strategic(two, R"({"containers":[{"$patch":"replace"},{"name":"c"}]})", "core.v1.PodSpec"),
        json(R"({"containers":[{"name":"c"}]})"));
    EXPECT_EQ(strategic(two, R"({"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]})",
                        "core.v1.PodSpec"),
              json(R"({"containers":[{"name":"b"},{"name":"a"}]})"));
    EXPECT_EQ(strategic(R"({"finalizers":["a","b"]})",
                        R"({"$deleteFromPrimitiveList/finalizers":["a"],"finalizers":["c"]})",
                        "meta.ObjectMeta"),
              json(R"({"finalizers":["c","b"]})"));
    EXPECT_EQ(
        strategic(R"({"rollingUpdate":{"maxSurge":1},"type":"RollingUpdate"})",
                  R"({"$retainKeys":["type"],"type":"Recreate"})", "apps.v1.DeploymentStrategy"),
        json(R"({"type":"Recreate"})"));
    EXPECT_EQ(strategic(R"({"nodeSelector":{"a":"1"}})",
                        R"({"nodeSelector":{"$patch":"replace","b":"2"}})", "core.v1.PodSpec"),
              json(R"({"nodeSelector":{"b":"2"}})"));
    EXPECT_EQ(strategic(R"({"affinity":{"podAffinity":{}}})", R"({"affinity":{"$patch":"delete"}})",
                        "core.v1.PodSpec"),
              json("{}"));
}

TEST(StrategicPatch, NeedsTheKeyOfAnElement) {
    EXPECT_NE(
        strategic(R"({"containers":[]})", R"({"containers":[{"image":"x"}]})", "core.v1.PodSpec")
            .text()
            .find("does not contain declared merge key: name"),
        std::string::npos);
}

TEST(StrategicPatch, LeavesNoDirectiveInWhatIsNew) {
    const Value made = strategic(
        "{}", R"({"containers":[{"name":"a","$setElementOrder/env":[],"env":[{"name":"x"}]}]})",
        "core.v1.PodSpec");
    EXPECT_EQ(made, json(R"({"containers":[{"name":"a","env":[{"name":"x"}]}]})"));
}

}  // namespace
}  // namespace aliquot::sim::apiserver
