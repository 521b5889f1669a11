// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace aliquot {
namespace {

TEST(JsonValue, ReadsNothingWhereNothingOrSomethingElseStands) {
    const auto json =
        nlohmann::ordered_json::parse(R"({"a":"x","b":7,"c":{"d":"y","e":null},"f":""})");
    EXPECT_EQ(text_at(json, "a"), "x");
    EXPECT_EQ(text_at(json, "b"), "");
    EXPECT_EQ(text_at(json, "missing"), "");
    EXPECT_EQ(text_at(member(json, "c"), "d"), "y");
    EXPECT_TRUE(member(json, "missing").is_null());
    EXPECT_TRUE(member(member(json, "a"), "of a text").is_null());
    EXPECT_TRUE(member(member(json, "missing"), "of nothing").is_null());
    const std::map<std::string, std::string> texts{{"a", "x"}, {"f", ""}};
    EXPECT_EQ(texts_of(json), texts);
    EXPECT_TRUE(texts_of(json["a"]).empty());
    EXPECT_TRUE(texts_of(nlohmann::json::array({"x"})).empty());
}

TEST(JsonValue, ReadsANumberOnlyWhereAWholeOneFits) {
    const auto json = nlohmann::json::parse(
        R"({"a":7,"b":-7,"c":7.5,"d":"7","e":4294967296,"f":18446744073709551615,"g":true})");
    EXPECT_EQ(number_at<unsigned>(json, "a"), 7U);
    EXPECT_EQ(number_at<std::int64_t>(json, "b"), -7);
    EXPECT_EQ(number_at<std::uint64_t>(json, "b"), 0U);
    EXPECT_EQ(number_at<unsigned>(json, "c"), 0U);
    EXPECT_EQ(number_at<unsigned>(json, "d"), 0U);
    EXPECT_EQ(number_at<unsigned>(json, "e"), 0U) << "not cut to its lower half";
    EXPECT_EQ(number_at<std::uint64_t>(json, "f"), UINT64_MAX);
    EXPECT_EQ(number_at<std::int64_t>(json, "f"), 0) << "does not fit a signed one";
    EXPECT_EQ(number_at<unsigned>(json, "missing"), 0U);
    EXPECT_EQ(flag_at(json, "g"), true);
    EXPECT_EQ(flag_at(json, "a"), std::nullopt);
    EXPECT_EQ(flag_at(json["a"], "g"), std::nullopt);
}

TEST(JsonValue, IsWrittenAsValidUtf8) {
    EXPECT_EQ(dumped(nlohmann::ordered_json{{"b", "\xff"}, {"a", 1}}),
              "{\"b\":\"\xef\xbf\xbd\",\"a\":1}");
    EXPECT_EQ(dumped(nlohmann::json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

TEST(JsonValue, ParsesAllOfATextOrNothing) {
    EXPECT_EQ(parse_json<nlohmann::json>(R"({"b":1,"a":[]})").size(), 2U);
    EXPECT_EQ(dumped(parse_json<nlohmann::ordered_json>(R"({"b":1,"a":[]})")), R"({"b":1,"a":[]})");
    EXPECT_TRUE(parse_json<nlohmann::json>("").is_discarded());
    EXPECT_TRUE(parse_json<nlohmann::json>("{} x").is_discarded());
    EXPECT_TRUE(parse_json<nlohmann::json>("{\"a\":\"\xff\"}").is_discarded());
    // What was not parsed reads as nothing.
    EXPECT_EQ(text_at(parse_json<nlohmann::json>("{"), "a"), "");
    // As deep as memory allows: the library parses without recursion.
    EXPECT_TRUE(parse_json<nlohmann::json>(std::string(100'000, '[')).is_discarded());
    EXPECT_FALSE(parse_json<nlohmann::json>(std::string(100'000, '[') + std::string(100'000, ']'))
                     .is_discarded());
}

}  // namespace
}  // namespace aliquot
