// SPDX-License-Identifier: Apache-2.0
#include "command_line/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command_line/help.h"

namespace aliquot::command_line {
namespace {

using Kind = Parsed::Kind;

/// `tool gpu list [-o FORMAT] [--wait N] [NAME]`
class Tool : public testing::Test {
protected:
    Tool() {
        Command* group = program_.add_subcommand("gpu", "Look at GPUs: all of them. Or one");
        group->require_subcommand(1);
        Command* list = group->add_subcommand("list", "List the GPUs");
        list->add_option("-o,--output", format_, "Output format")
            ->one_of({"table", "json"})
            ->option_text("FORMAT");
        list->add_option("--wait", wait_, "Seconds")->range(1, 60);
        list->add_option("NAME", names_, "Which");
        list->callback([this] { ran_ = true; });
    }
    Command program_{"A tool.", "tool"};
    std::string format_ = "table";
    int wait_ = 0;
    std::vector<std::string> names_;
    bool ran_ = false;
};

TEST_F(Tool, RunsTheCommandWithItsOptionsRead) {
    EXPECT_EQ(program_.parse("gpu list -o json --wait 7 a b").kind, Kind::kRun);
    EXPECT_TRUE(ran_);
    EXPECT_EQ(format_, "json");
    EXPECT_EQ(wait_, 7);
    EXPECT_THAT(names_, testing::ElementsAre("a", "b"));
    EXPECT_EQ(program_.deepest().path(), "tool gpu list");
}

TEST_F(Tool, TellsTheHelpOfTheCommandThatWasNamedLast) {
    const Parsed parsed = program_.parse("gpu list --help");
    EXPECT_EQ(parsed.kind, Kind::kHelp);
    EXPECT_THAT(parsed.text, testing::HasSubstr("Usage: tool gpu list [OPTIONS] [NAME...]"));
    EXPECT_THAT(parsed.text, testing::HasSubstr("--output FORMAT"));
    EXPECT_THAT(parsed.text, testing::Not(testing::HasSubstr("--help VALUE"))) << "a flag";
    EXPECT_FALSE(ran_);
}

TEST_F(Tool, SaysWhichWordNothingTakes) {
    EXPECT_EQ(program_.parse("gpu lsit").unwanted, "lsit");
    EXPECT_EQ(program_.parse("gpu list --wiat 3").unwanted, "--wiat");
    const Parsed parsed = program_.parse("gpu list --wait 61");
    EXPECT_EQ(parsed.kind, Kind::kWrong);
    EXPECT_EQ(parsed.unwanted, "");
    EXPECT_THAT(parsed.text, testing::HasSubstr("--wait"));
}

TEST_F(Tool, SaysWhichValuesItTakes) {
    EXPECT_EQ(program_.parse("gpu list -o xml").text, "--output: 'xml' is not one of table, json");
    EXPECT_EQ(program_.parse("gpu list --wait 61").text,
              "--wait: '61' is not a number from 1 to 60");
    EXPECT_EQ(program_.parse("gpu list --wait soon").text,
              "--wait: 'soon' is not a number from 1 to 60");
    EXPECT_EQ(program_.parse("gpu list --wait").text, "--wait: a value is missing");
    EXPECT_EQ(program_.parse("gpu").text, "a command is required");
}

TEST_F(Tool, DescribesItsOptionsForCompletion) {
    const std::vector<Description> options = program_.commands()[0]->commands()[0]->options();
    ASSERT_EQ(options.size(), 4U);
    EXPECT_THAT(options[1].names, testing::ElementsAre("--output", "-o"));
    EXPECT_THAT(options[1].choices, testing::ElementsAre("table", "json"));
    EXPECT_TRUE(options[1].takes_value);
    EXPECT_TRUE(options[3].names.empty());
    EXPECT_EQ(summary_of(program_.commands()[0]->description()), "Look at GPUs");
}

}  // namespace
}  // namespace aliquot::command_line
