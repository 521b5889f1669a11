// SPDX-License-Identifier: Apache-2.0
#include "cli/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command_line/command.h"
#include "document/build.h"
#include "document/json.h"
#include "document/yaml.h"

namespace aliquot::cli {
namespace {

using document::Value;
using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> keys_of(const Value& value) {
    std::vector<std::string> keys;
    for (const auto& entry : value.entries) keys.push_back(entry.first.scalar);
    return keys;
}

std::string printed(const Json& value, std::string_view format) {
    std::ostringstream out;
    print_answer(out, "Thing", value, format);
    return out.str();
}

TEST(Answer, BeginsWithItsVersionAndKindBesideItsOwnKeys) {
    const Value answer = enveloped("GpuList", document::make_mapping({{"gpus", 2}}));
    EXPECT_THAT(keys_of(answer), ElementsAre("apiVersion", "kind", "gpus"));
    EXPECT_EQ(answer.find("apiVersion")->scalar, "aliquot.dev/v1");
    EXPECT_EQ(answer.find("kind")->scalar, "GpuList");
}

TEST(Answer, OfAListHasItems) {
    Value list = document::make_sequence();
    list.items.push_back(document::make_string("a"));
    const Value answer = enveloped("NameList", list);
    EXPECT_THAT(keys_of(answer), ElementsAre("apiVersion", "kind", "items"));
    EXPECT_EQ(answer.find("items")->items.size(), 1U);
}

TEST(Answer, LeavesAnObjectOfKubernetesAsItIs) {
    const Value pod = document::make_mapping({{"apiVersion", "v1"}, {"kind", "Pod"}});
    EXPECT_EQ(document::to_json_line(enveloped("Thing", pod)),
              R"({"apiVersion":"v1","kind":"Pod"})");
}

TEST(Answer, IsTheSameValueAsJsonAndAsYaml) {
    const Json value{{"text", "yes"},
                     {"number", "010"},
                     {"date", "2026-11-28"},
                     {"lines", "a\nb: c\n"},
                     {"none", nullptr},
                     {"half", 0.5},
                     {"much", 1e20},
                     {"many", std::numeric_limits<std::uint64_t>::max()},
                     {"below", -3},
                     {"true", true},
                     {"empty", Json::array()},
                     {"nothing", Json::object()},
                     {"bad", "caf\xe9"},
                     {"list", {{{"a", 1}}, {{"a", 2}}}}};
    const std::string json = printed(value, "json");
    const auto stream = document::parse_yaml(printed(value, "yaml"));
    ASSERT_EQ(stream.documents.size(), 1U);
    EXPECT_EQ(document::to_json(stream.documents.front()) + "\n", json);
    const Json read = Json::parse(json);
    EXPECT_EQ(read["kind"], "Thing");
    EXPECT_EQ(read["text"], "yes");
    EXPECT_EQ(read["much"], 1e20);
    EXPECT_EQ(read["many"], std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(read["bad"], "caf\xef\xbf\xbd");
    EXPECT_TRUE(read["none"].is_null());
}

TEST(Answer, HasNoWordForWhatIsNoNumber) {
    EXPECT_THAT(printed({{"x", std::numeric_limits<double>::infinity()}}, "json"),
                HasSubstr("\"x\": null"));
}

TEST(Answer, KeepsAnOldSpellingBehindTheNewOne) {
    const auto old = document::parse_json(
        R"({"gpu_memory_gib":4,"worst_case":{"most_mib":1},"gpus":[{"per_gpu_gib":2}],"nvidia.com/gpu_x":1,"_a":2})");
    ASSERT_TRUE(old);
    EXPECT_EQ(
        document::to_json_line(with_camel_case(*old)),
        R"({"gpuMemoryGib":4,"gpu_memory_gib":4,"worstCase":{"mostMib":1},"worst_case":{"most_mib":1},)"
        R"("gpus":[{"perGpuGib":2,"per_gpu_gib":2}],"nvidia.com/gpu_x":1,"_a":2})");
}

struct Parsed {
    std::string format;
    command_line::Parsed::Kind kind;
    std::string text;
};

Parsed parsed(const std::string& words, std::vector<std::string> forms,
              std::vector<std::string> others = {}) {
    command_line::Command command("", "x");
    Parsed made{.format = "none", .kind = {}, .text = {}};
    add_output(command, made.format, std::move(forms), std::move(others));
    const auto done = command.parse(words);
    made.kind = done.kind;
    made.text = done.text;
    return made;
}

TEST(Answer, TakesTextForTableAndTableForText) {
    EXPECT_EQ(parsed("-o text", {"table"}).format, "table");
    EXPECT_EQ(parsed("-o table", {"text", "short"}).format, "text");
    EXPECT_EQ(parsed("-o table", {"text", "table"}).format, "table");
    EXPECT_EQ(parsed("-o text", {"text", "table"}).format, "text");
    EXPECT_EQ(parsed("-o yaml", {"table"}).format, "yaml");
    EXPECT_EQ(parsed("-o csv", {"table"}, {"csv"}).format, "csv");
    EXPECT_THAT(parsed("-o xml", {"table"}, {"csv"}).text,
                HasSubstr("'xml' is not one of table, json, yaml, csv"));
    EXPECT_EQ(parsed("-o table", {}).kind, command_line::Parsed::Kind::kWrong);
}

}  // namespace
}  // namespace aliquot::cli
