// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/managed_fields.h"

#include <gtest/gtest.h>

#include "sim/apiserver/fields.h"

namespace aliquot::sim::apiserver {
namespace {

const Type& type_of(const char* name) { return *TypeTable::built_in().find(name); }

Value json(const std::string& text) {
    auto parsed = parse_json(text);
    EXPECT_TRUE(parsed) << text;
    return parsed ? parsed->value : Value();
}

Manager applier(const char* name) {
    Manager manager;
    manager.name = name;
    manager.applies = true;
    manager.api_version = "v1";
    return manager;
}

Outcome<Value> apply(const Value& live, const std::string& config, const char* manager,
                     bool force = false, const char* type = "core.v1.ConfigMap") {
    return apply_config(live, json(config), type_of(type), applier(manager), force, "things", "");
}

std::string fields(const Value& object, std::string_view manager) {
    for (const Value& line : object.at_path("metadata.managedFields").items()) {
        if (line.at("manager").text() == manager) return to_json(line.at("fieldsV1"));
    }
    return "";
}

TEST(FieldSet, KeepsItsWrittenForm) {
    const std::string text =
        R"({"f:data":{".":{},"f:a":{}},"f:list":{"k:{\"name\":\"x\"}":{".":{},"f:name":{}},"v:\"s\"":{}}})";
    EXPECT_EQ(to_json(to_fields_v1(read_field_set(json(text)))), text);
}

TEST(FieldSet, CountsLikeSets) {
    const FieldSet left = read_field_set(json(R"({"f:a":{},"f:b":{"f:c":{},"f:d":{}}})"));
    const FieldSet right = read_field_set(json(R"({"f:b":{"f:c":{}},"f:e":{}})"));
    EXPECT_EQ(to_json(to_fields_v1(subtract(left, right))), R"({"f:a":{},"f:b":{"f:d":{}}})");
    EXPECT_EQ(to_json(to_fields_v1(intersect(left, right))), R"({"f:b":{"f:c":{}}})");
    EXPECT_EQ(unite(left, right), unite(right, left));
    EXPECT_TRUE(subtract(left, unite(left, right)).empty());
}

TEST(FieldSet, SpellsPathsAsConflictsDo) {
    const FieldSet set = read_field_set(json(
        R"({"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}},"f:metadata":{"f:finalizers":{"v:\"a/b\"":{}}}})"));
    EXPECT_EQ(spell_paths(set), (std::vector<std::string>{".metadata.finalizers[=\"a/b\"]",
                                                          ".spec.containers[name=\"web\"].image"}));
}

TEST(FieldsOf, FollowTheTypes) {
    const auto set = fields_of(
        json(
            R"({"spec":{"containers":[{"name":"c","ports":[{"containerPort":80}],"args":["a","b"]}],
                         "nodeSelector":{"x":"y"},"securityContext":{}},
                 "metadata":{"labels":{"l":"m"},"finalizers":["a/b"]}})"),
        type_of("core.v1.Pod"));
    ASSERT_TRUE(set);
    EXPECT_EQ(to_fields_v1(*set),
              json(R"({"f:metadata":{"f:finalizers":{"v:\"a/b\"":{}},"f:labels":{"f:l":{}}},
                       "f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:args":{},"f:name":{},
                                   "f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}},
                                 "f:nodeSelector":{},"f:securityContext":{}}})"));
}

TEST(FieldsOf, RefusesAnElementTwiceOrWithoutItsKey) {
    const Type& pod = type_of("core.v1.Pod");
    const auto twice =
        fields_of(json(R"({"spec":{"containers":[{"name":"c"},{"name":"c"}]}})"), pod);
    ASSERT_FALSE(twice);
    EXPECT_NE(twice.error().message.find("duplicate entries"), std::string::npos);
    EXPECT_FALSE(fields_of(json(R"({"spec":{"containers":[{"image":"c"}]}})"), pod));
}

TEST(Apply, MakesAndOwnsWhatIsSent) {
    const auto made = apply(Value(), R"({"metadata":{"name":"x"},"data":{"a":"1"}})", "one");
    ASSERT_TRUE(made);
    EXPECT_EQ(made->at("data"), json(R"({"a":"1"})"));
    EXPECT_EQ(fields(*made, "one"), R"({"f:data":{"f:a":{}}})");
}

TEST(Apply, RefusesWhatAnotherOwnsUnlessForced) {
    const auto live =
        apply(Value(), R"({"metadata":{"name":"x"},"data":{"a":"1","b":"1"}})", "one");
    ASSERT_TRUE(live);
    const auto refused = apply(*live, R"({"data":{"a":"2"}})", "two");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.failure().code, 409);
    ASSERT_EQ(refused.failure().causes.size(), 1U);
    EXPECT_EQ(refused.failure().causes[0].field, ".data.a");
    EXPECT_EQ(refused.failure().causes[0].message, "conflict with \"one\"");
    const auto forced = apply(*live, R"({"data":{"a":"2"}})", "two", true);
    ASSERT_TRUE(forced);
    EXPECT_EQ(forced->at("data"), json(R"({"a":"2","b":"1"})"));
    EXPECT_EQ(fields(*forced, "one"), R"({"f:data":{"f:b":{}}})");
    EXPECT_EQ(fields(*forced, "two"), R"({"f:data":{"f:a":{}}})");
}

TEST(Apply, SharesAnEqualValue) {
    const auto live = apply(Value(), R"({"data":{"a":"1"}})", "one");
    const auto shared = apply(*live, R"({"data":{"a":"1"}})", "two");
    ASSERT_TRUE(shared);
    EXPECT_EQ(fields(*shared, "one"), fields(*shared, "two"));
    const auto less = apply(*shared, R"({})", "one");
    ASSERT_TRUE(less);
    EXPECT_EQ(less->at("data"), json(R"({"a":"1"})")) << "the other still owns it";
    const auto none = apply(*less, R"({})", "two");
    ASSERT_TRUE(none);
    EXPECT_TRUE(none->at("data").empty());
}

TEST(Apply, RemovesElementsThatAreLeftOut) {
    const char* type = "core.v1.Pod";
    auto live = apply(
        Value(), R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}})",
        "one", false, type);
    live =
        apply(*live, R"({"spec":{"containers":[{"name":"b","env":[{"name":"E","value":"1"}]}]}})",
              "two", false, type);
    ASSERT_TRUE(live);
    live = apply(*live, R"({"spec":{"containers":[]}})", "one", false, type);
    ASSERT_TRUE(live);
    EXPECT_EQ(live->at_path("spec.containers"),
              json(R"([{"name":"b","env":[{"name":"E","value":"1"}]}])"))
        << "b stays: the other owns something of it";
}

TEST(Apply, KeepsTheOrderOfTheConfigAndOfTheLive) {
    const char* type = "core.v1.Pod";
    auto live = apply(Value(), R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})", "one",
                      false, type);
    live =
        apply(*live, R"({"spec":{"containers":[{"name":"z"},{"name":"b"}]}})", "two", false, type);
    ASSERT_TRUE(live);
    std::string names;
    for (const Value& one : live->at_path("spec.containers").items())
        names += one.at("name").text();
    EXPECT_EQ(names, "azb");
}

TEST(Update, TakesTheFieldsThatItChanges) {
    const auto live = apply(Value(), R"({"data":{"a":"1","b":"1"}})", "one");
    Value now = *live;
    now["data"]["a"] = "2";
    now["data"]["c"] = "3";
    Manager manager;
    manager.name = "editor";
    manager.api_version = "v1";
    track_update(*live, now, type_of("core.v1.ConfigMap"), manager);
    EXPECT_EQ(fields(now, "one"), R"({"f:data":{"f:b":{}}})");
    EXPECT_EQ(fields(now, "editor"), R"({"f:data":{"f:a":{},"f:c":{}}})");
    Value gone = now;
    gone["data"].erase("b");
    track_update(now, gone, type_of("core.v1.ConfigMap"), manager);
    EXPECT_EQ(fields(gone, "one"), "") << "who owns nothing is not listed";
}

TEST(Update, OfNewObjectsOwnsAllButTheServersFields) {
    Value now = json(R"({"metadata":{"name":"x","uid":"u","labels":{"a":"b"}},"data":{"a":"1"}})");
    Manager manager;
    manager.name = "maker";
    track_update(Value(), now, type_of("core.v1.ConfigMap"), manager);
    EXPECT_EQ(fields(now, "maker"),
              R"({"f:data":{".":{},"f:a":{}},"f:metadata":{"f:labels":{".":{},"f:a":{}}}})");
}

TEST(ManagerOfAgent, IsTheProgramsName) {
    EXPECT_EQ(manager_of_agent("kubectl/v1.32.4 (linux/amd64) kubernetes/59526cd"), "kubectl");
    EXPECT_EQ(manager_of_agent(""), "unknown");
}

}  // namespace
}  // namespace aliquot::sim::apiserver
