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
        list->add_option("--load", load_, "How busy", "X");
        list->add_option("--seed", seed_, "First number", "N");
        list->add_option("--prices", prices_, "What they cost", "FILE (prices.yaml)");
        list->add_option("--model", model_, "Which")->type_name("MODEL[:N]");
        list->add_option("--share", share_, "How much")->range(1U, 100U)->type_name("PERCENT");
        list->add_option("NAME", names_, "Which");
        list->callback([this] { ran_ = true; });
    }
    Command program_{"A tool.", "tool"};
    std::string format_ = "table";
    int wait_ = 0;
    double load_ = 0;
    std::uint64_t seed_ = 0;
    std::string prices_;
    std::string model_;
    unsigned share_ = 0;
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
    EXPECT_THAT(parsed.text, testing::HasSubstr("--model MODEL[:N] "));
    EXPECT_THAT(parsed.text, testing::HasSubstr("--share PERCENT "));
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

TEST_F(Tool, RefusesWhatLooksLikeAValueAndIsNone) {
    for (const std::string word : {"nan", "inf", "-inf", "1e999"}) {
        EXPECT_EQ(program_.parse("gpu list --load " + word).text,
                  "--load: '" + word + "' is not a number");
    }
    EXPECT_EQ(program_.parse("gpu list --seed 18446744073709551615").kind, Kind::kRun);
    EXPECT_EQ(program_.parse("gpu list --seed 18446744073709551616").text,
              "--seed: '18446744073709551616' is too large");
    EXPECT_EQ(program_.parse("gpu list --seed=-1").text, "--seed: '-1' is not a number from 0");
    EXPECT_EQ(program_.parse({"gpu", "list", "--prices", ""}).text,
              "--prices: is empty; expected a path");
    EXPECT_EQ(program_.parse({"gpu", "list", ""}).kind, Kind::kRun) << "a name may be empty";
}

TEST_F(Tool, DescribesItsOptionsForCompletion) {
    const std::vector<Description> options = program_.commands()[0]->commands()[0]->options();
    ASSERT_EQ(options.size(), 9U);
    EXPECT_THAT(options[1].names, testing::ElementsAre("--output", "-o"));
    EXPECT_THAT(options[1].choices, testing::ElementsAre("table", "json"));
    EXPECT_TRUE(options[1].takes_value);
    EXPECT_TRUE(options[8].names.empty());
    EXPECT_EQ(summary_of(program_.commands()[0]->description()), "Look at GPUs");
}

}  // namespace
}  // namespace aliquot::command_line
