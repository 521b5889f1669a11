// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/selector.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/time_text.h"
#include "sim/apiserver/route.h"
#include "sim/apiserver/store.h"
#include "sim/apiserver/table.h"
#include "sim/apiserver/words.h"

namespace aliquot::sim::apiserver {
namespace {

bool selects(std::string_view text, const Value& labels) {
    const auto selector = parse_label_selector(text);
    EXPECT_TRUE(selector) << text;
    return selector && matches_labels(*selector, labels);
}

TEST(LabelSelector, KnowsAllItsOperators) {
    const Value labels =
        Value::object({{"app", "web"}, {"tier", "front"}, {"cores", "8"}, {"empty", ""}});
    for (const char* fits :
         {"", "app=web", "app==web", "app", "!db", "app!=db", "other!=x", "app in (db, web)",
          "app notin (db)", "cores>7", "cores<9", "app=web,tier=front", "empty=", "empty in (,x)",
          " app = web , tier in ( front ) "}) {
        EXPECT_TRUE(selects(fits, labels)) << fits;
    }
    for (const char* misses : {"app=db", "db", "!app", "app!=web", "app in (db)", "app notin (web)",
                               "cores>8", "app>1", "app=web,tier=back"}) {
        EXPECT_FALSE(selects(misses, labels)) << misses;
    }
    for (const char* broken :
         {"=", "a=b=c", "a in b", "a in (b", "a,", "a b", "-a=b", "a=b c", "a=-", "x>y"}) {
        EXPECT_FALSE(parse_label_selector(broken)) << broken;
    }
}

TEST(FieldSelector, IsEqualOrNot) {
    const auto both = parse_field_selector("spec.nodeName=n1,status.phase!=Failed");
    ASSERT_TRUE(both);
    const Resources resources;
    const auto pods = resources.find("", "v1", "pods");
    Value pod = Value::object();
    pod["spec"]["nodeName"] = "n1";
    pod["status"]["phase"] = "Running";
    EXPECT_TRUE(matches_fields(*both, *pods, pod));
    pod["status"]["phase"] = "Failed";
    EXPECT_FALSE(matches_fields(*both, *pods, pod));
    EXPECT_FALSE(parse_field_selector("spec.nodeName"));
    EXPECT_TRUE(is_selectable(*pods, "spec.nodeName"));
    EXPECT_FALSE(is_selectable(*pods, "spec.containers"));
}

TEST(Route, ReadsThePathsOfResources) {
    const auto read = [](std::vector<std::string> parts) {
        return read_route(parts).value_or(Route{});
    };
    const Route scale =
        read({"apis", "apps", "v1", "namespaces", "a", "deployments", "b", "scale"});
    EXPECT_EQ(scale.group + "|" + scale.version + "|" + scale.resource + "|" + scale.name_space +
                  "|" + scale.name + "|" + scale.subresource,
              "apps|v1|deployments|a|b|scale");
    EXPECT_EQ(read({"api", "v1", "namespaces", "a"}).resource, "namespaces");
    EXPECT_EQ(read({"api", "v1", "namespaces", "a", "finalize"}).subresource, "finalize");
    EXPECT_EQ(read({"api", "v1", "namespaces", "a", "pods"}).name_space, "a");
    EXPECT_TRUE(read({"api", "v1", "watch", "pods"}).watch_path);
    EXPECT_FALSE(read_route({"api", "v1"}));
    EXPECT_FALSE(read_route({"healthz"}));
    EXPECT_FALSE(read_route({"api", "v1", "pods", "a", "b", "c"}));
}

TEST(JsonPath, FindsWhatColumnsName) {
    const auto object =
        parse_json(R"({"a":{"b":[{"type":"X","s":"1"},{"type":"Ready","s":"2"}],"c.d":3}})");
    ASSERT_TRUE(object);
    EXPECT_EQ(find_json_path(object->value, ".a.b[1].s").text(), "2");
    EXPECT_EQ(find_json_path(object->value, ".a.b[-1:].s").text(), "") << "slices are not done";
    EXPECT_EQ(find_json_path(object->value, R"(.a.b[?(@.type=="Ready")].s)").text(), "2");
    EXPECT_EQ(find_json_path(object->value, R"(.a.c\.d)").integer(), 3);
    EXPECT_EQ(find_json_path(object->value, ".a['c.d']").integer(), 3);
    EXPECT_TRUE(find_json_path(object->value, ".x.y").is_null());
}

TEST(Words, SpellTimesAndAges) {
    const auto time = parse_rfc3339("2026-01-02T03:04:05.600000Z");
    ASSERT_TRUE(time);
    EXPECT_EQ(rfc3339_micro(*time), "2026-01-02T03:04:05.600000Z");
    EXPECT_EQ(rfc3339(*parse_rfc3339("2026-01-02T04:04:05+01:00")), "2026-01-02T03:04:05Z");
    EXPECT_FALSE(parse_rfc3339("2026-01-02"));
    EXPECT_EQ(format_age(std::chrono::seconds(119)), "119s");
    EXPECT_EQ(format_age(std::chrono::seconds(125)), "2m5s");
    EXPECT_EQ(format_age(std::chrono::hours(50)), "2d2h");
    EXPECT_EQ(decode_base64(encode_base64("any")).value_or(""), "any");
    EXPECT_FALSE(decode_base64("%"));
}

TEST(Json, ReadsAndWritesEveryValue) {
    const std::string text =
        R"({"a":[1,-2,0.5,1e+30,true,false,null,"x\"\\\n\u0001"],"b":{},"c":[]})";
    const auto read = parse_json(text);
    ASSERT_TRUE(read);
    EXPECT_EQ(to_json(read->value), text);
    EXPECT_EQ(parse_json("\"\\ud83d\\ude00\"")->value.text(), "\U0001F600");
    for (const char* broken :
         {"", "{", "[1,]", "{\"a\":1,}", "01", "1.", "nul", "\"\n\"", "1 2", "{1:2}"}) {
        EXPECT_FALSE(parse_json(broken)) << broken;
    }
    EXPECT_EQ(parse_json(R"({"a":{"b":1,"b":2}})")->duplicates, std::vector<std::string>{"a.b"});
    EXPECT_FALSE(parse_json(std::string(2000, '[')));
}

TEST(Store, ReadsThePastUntilItIsCompacted) {
    Store store;
    const auto object = [](int number) { return Value::object({{"n", number}}); };
    const EntryPtr first = store.create("things", "a/x", object(1));
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(store.create("things", "a/x", object(1)), nullptr);
    const EntryPtr second = store.update("things", "a/x", object(2), first->revision);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(store.update("things", "a/x", object(3), first->revision), nullptr) << "it has moved";
    ASSERT_NE(store.remove("things", "a/x", second->revision), nullptr);
    EXPECT_EQ(store.get("things", "a/x"), nullptr);
    const auto past = store.list("things", "a/", first->revision, "", 0);
    ASSERT_TRUE(past);
    ASSERT_EQ(past->entries.size(), 1U);
    EXPECT_EQ(past->entries[0]->object.at("n").integer(), 1);
    const auto seen = store.wait("things", first->revision - 1, std::chrono::milliseconds(0));
    EXPECT_EQ(seen.changes.size(), 3U);
    store.compact();
    EXPECT_FALSE(store.list("things", "a/", first->revision, "", 0));
    EXPECT_TRUE(store.wait("things", first->revision, std::chrono::milliseconds(0)).compacted);
    EXPECT_TRUE(store.list("things", "a/", 0, "", 0)->entries.empty());
}

TEST(Store, ForgetsTheOldestWhenThereIsTooMuch) {
    Store store(100);
    for (int i = 0; i < 500; ++i) {
        ASSERT_NE(store.create("things", std::to_string(i), Value::object()), nullptr);
    }
    EXPECT_TRUE(store.wait("things", 2, std::chrono::milliseconds(0)).compacted);
    EXPECT_EQ(store.list("things", "", 0, "", 0)->entries.size(), 500U) << "objects stay";
}

}  // namespace
}  // namespace aliquot::sim::apiserver
