// SPDX-License-Identifier: Apache-2.0
#include "document/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/json_text.h"
#include "document/path.h"
#include "document/write.h"
#include "document/yaml.h"

namespace aliquot::document {
namespace {

TEST(Json, IsReadBackAsTheSameValues) {
    Value root = make_mapping();
    append(root, "name", make_string("a \"b\" \\ \n\t\x01 c"));
    append(root, "count", make_integer(3));
    append(root, "share", make_number(0.25));
    append(root, "whole", make_number(7.0));
    append(root, "on", make_bool(true));
    append(root, "nothing", Value{});
    Value list = make_sequence();
    list.items.push_back(make_mapping());
    list.items.push_back(make_sequence());
    append(root, "list", std::move(list));
    EXPECT_EQ(to_json(root),
              "{\n  \"name\": \"a \\\"b\\\" \\\\ \\n\\t\\u0001 c\",\n  \"count\": 3,\n"
              "  \"share\": 0.25,\n  \"whole\": 7,\n  \"on\": true,\n  \"nothing\": null,\n"
              "  \"list\": [\n    {},\n    []\n  ]\n}");
    const auto read = parse_yaml(to_json(root));
    ASSERT_TRUE(read.errors.empty()) << read.errors[0].message;
    EXPECT_EQ(read.documents[0].find("name")->scalar, root.find("name")->scalar);
    EXPECT_EQ(read.documents[0].find("share")->kind, Value::Kind::kFloat);
}

TEST(Json, HasNoWordForInfinity) {
    EXPECT_EQ(to_json(make_number(std::numeric_limits<double>::infinity())), "null");
    EXPECT_EQ(to_json(make_number(-0.00001)), "0");
}

TEST(JsonReader, KeepsLinesAndRefusesWhatIsNone) {
    const auto read = parse_json("{\n \"a\": [1, \"\\u00e4\\ud83d\\ude00\",\n null]}");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(items_at(*read, {"a"})[1].scalar, "\xc3\xa4\xf0\x9f\x98\x80");
    EXPECT_EQ(items_at(*read, {"a"})[2].mark.line, 3U);
    for (const char* const bad : {"", "{", "[1 2]", "{\"a\" 1}", "tru", "\"a", "{\"a\":1}x"}) {
        EXPECT_FALSE(parse_json(bad)) << bad;
    }
    EXPECT_FALSE(parse_json(std::string(1000, '[')));
    EXPECT_EQ(json_quoted("a\"\n\xff"), "\"a\\\"\\n\xef\xbf\xbd\"");
}

// A version of the line writer took 1.5 for a word of YAML only: it is a number of JSON, too.
TEST(Json, SpellsWhatOnlyYamlKnowsAsAText) {
    const auto read =
        parse_yaml("a: [1, true, null, 010, yes, 1.5, -3, 2e-3, .5, +1, 1.]\nb: {c: \"x\"}\n");
    ASSERT_TRUE(read.errors.empty());
    EXPECT_EQ(to_json_line(read.documents[0]),
              R"({"a":[1,true,null,"010","yes",1.5,-3,2e-3,".5","+1","1."],"b":{"c":"x"}})");
}

// There were two readers; this one took all of these.
TEST(JsonReader, RefusesWhatOnlyLooksLikeJson) {
    for (const char* const bad :
         {"[1,]", "{\"a\":1,}", "[,1]", "[+1]", "[01]", "[1.]", "[.5]", "[1e]", "[--1]", "[1e999]",
          "\"a\tb\"", "\"\\u12\"", "\"\\x\"", "nul"}) {
        EXPECT_FALSE(parse_json(bad)) << bad;
    }
    EXPECT_EQ(items_at(*parse_json("1 2"), {}).size(), 2U);
    EXPECT_FALSE(parse_json("1 2", {.several = false}));
    EXPECT_TRUE(parse_json(std::string(100, '[') + std::string(100, ']'), {.depth = 100}));
}

TEST(Path, GivesATextOnlyWhereThereIsOne) {
    const auto read = parse_yaml("a: {b.c: x, n: null, l: [1]}\n");
    const Value& root = read.documents[0];
    EXPECT_EQ(text_at(root, {"a", "b.c"}), "x");
    EXPECT_EQ(text_at(root, "a[b.c]"), "x");
    EXPECT_EQ(text_at(root, {"a", "n"}), "");
    EXPECT_EQ(text_at(root, "a.n"), "");
    EXPECT_EQ(text_at(root, {"a", "l"}), "");
    EXPECT_EQ(items_at(root, {"a", "l"}).size(), 1U);
    EXPECT_EQ(items_at(root, {"a", "none"}).size(), 0U);
    EXPECT_EQ(at_path(nullptr, {"a"}), nullptr);
}

TEST(Json, IsBuiltAsItWillLook) {
    const std::vector<std::string> words{"a", "b\n"};
    const Value root = make_mapping(
        {{"text", "t"},
         {"flag", true},
         {"count", std::size_t{18'000'000'000'000}},
         {"share", 0.123456},
         {"none", or_null(false, 7)},
         {"left", only_if(false, "out")},
         {"words", words},
         {"inner", make_mapping({{"x", make_sequence()}})},
         {"sizes", make_sequence(words, [](const std::string& word) { return word.size(); })}});
    EXPECT_EQ(
        to_json_line(root),
        "{\"text\":\"t\",\"flag\":true,\"count\":18000000000000,\"share\":0.1235,\"none\":null,"
        "\"words\":[\"a\",\"b\\n\"],\"inner\":{\"x\":[]},\"sizes\":[1,2]}");
    EXPECT_EQ(to_json_line(make_mapping()), "{}");
}

}  // namespace
}  // namespace aliquot::document
