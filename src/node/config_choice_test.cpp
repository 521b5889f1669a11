// SPDX-License-Identifier: Apache-2.0
#include "node/config_choice.h"

#include <gmock/gmock.h>

namespace aliquot::node {
namespace {

using Source = ConfigChoice::Source;
using testing::HasSubstr;

ConfigChoices choices(std::optional<std::map<std::string, std::string>> data) {
    return {.place = "ConfigMap aliquot-system/aliquot-config", .data = std::move(data)};
}

TEST(AConfig, IsTheOneThatTheLabelNames) {
    const auto choice = choose_config("a2", choices({{{"a2", "two"}, {"default", "d"}}}));
    EXPECT_EQ(choice, (ConfigChoice{.source = Source::kLabel, .key = "a2", .text = "two"}));
    EXPECT_EQ(file_name(choices({}), choice), "aliquot-config/a2");
}

TEST(AConfig, WithoutALabelIsTheDefaultTheOnlyOrNone) {
    EXPECT_EQ(choose_config({}, choices({{{"a", "1"}, {"default", "d"}}})).text, "d");
    EXPECT_EQ(choose_config("", choices({{{"a", "1"}, {"default", "d"}}})).text, "d");
    const auto only = choose_config({}, choices({{{"a", "1"}}}));
    EXPECT_EQ(only.source, Source::kOnly);
    EXPECT_EQ(only.text, "1");
    EXPECT_EQ(choose_config({}, choices({{{"a", "1"}, {"b", "2"}}})), ConfigChoice{});
    EXPECT_EQ(choose_config({}, choices({})), ConfigChoice{});
    ConfigChoices named = choices({{{"a", "1"}, {"b", "2"}}});
    named.default_key = "b";
    EXPECT_EQ(choose_config({}, named).text, "2");
}

TEST(AConfig, ThatIsNotThereIsAProblemWithTheWayOut) {
    const auto wrong = choose_config("a20", choices({{{"a2", "1"}, {"t4", "2"}}}));
    EXPECT_EQ(wrong.problem,
              "the label nvidia.com/device-plugin.config asks for the configuration 'a20', which "
              "ConfigMap aliquot-system/aliquot-config does not have (it has a2, t4); did you mean "
              "'a2'?");
    EXPECT_THAT(choose_config("a2", choices({})).problem,
                HasSubstr("but there is no ConfigMap aliquot-system/aliquot-config"));
    ConfigChoices unread = choices({});
    unread.problem = "which cannot be read: forbidden";
    EXPECT_THAT(choose_config("a2", unread).problem, HasSubstr("forbidden"));
    EXPECT_THAT(choose_config({}, unread).problem, HasSubstr("forbidden"));
}

TEST(AConfig, ThatIsEmptyIsNotTheBuiltInOne) {
    const auto choice = choose_config("a", choices({{{"a", ""}}}));
    EXPECT_EQ(choice.key, "a");
    EXPECT_TRUE(choice.problem.empty());
}

TEST(WhatIsTold, IsReadAgain) {
    const ConfigStatus told{
        .source = Source::kOnly, .key = "a2", .served = false, .problem = "bad"};
    EXPECT_EQ(parse_config_status(to_json(told)), told);
    EXPECT_FALSE(parse_config_status("[]"));
    EXPECT_FALSE(parse_config_status(R"({"source":"elsewhere"})"));
}

}  // namespace
}  // namespace aliquot::node
