// SPDX-License-Identifier: Apache-2.0
// Runs every src/plan/cases/*.case and src/sizing/cases/*.case: the first line holds the words
// behind `aliquot`, then `--- input` (what is given on the standard input; may be left out), then
// `--- exit N`, then the output. UPDATE_CASES=1 rewrites the expected part; look at the difference.
// src/plan/questions/*.case are what people ask: the exit code, and lines of the answer whose arithmetic was
// checked outside this program. They must be there in this order, with others between them; nothing rewrites them.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <utility>

#include "cli/commands.h"
#include "tests/case_files.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;

struct Case {
    std::string words;
    std::string input;
    std::string expected;  // "--- exit 0\n" and what is printed
};

Case read_case(const fs::path& path) {
    const std::string text = cases::read(path);
    Case made;
    const std::size_t line = text.find('\n');
    made.words = text.substr(0, line);
    const std::size_t exit = text.find("--- exit");
    const std::size_t input = text.find("--- input\n");
    if (exit != std::string::npos) made.expected = text.substr(exit);
    if (input != std::string::npos) {
        const std::size_t from = input + std::string("--- input\n").size();
        made.input = text.substr(from, exit == std::string::npos ? exit : exit - from);
    }
    return made;
}

/// Words are separated by blanks; quotes keep them together.
std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> words;
    std::string word;
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') {
            quoted = !quoted;
        } else if (c == ' ' && !quoted) {
            if (!word.empty()) words.push_back(std::exchange(word, {}));
        } else {
            word += c;
        }
    }
    if (!word.empty()) words.push_back(word);
    return words;
}

std::string outcome_of(const Case& one) {
    constexpr auto kCommands =
        std::to_array<Command>({{"plan", add_plan_command}, {"size", add_size_command}});
    std::vector<std::string> all{"aliquot"};
    for (std::string& word : split(one.words)) all.push_back(std::move(word));
    std::vector<char*> argv;
    for (std::string& word : all) argv.push_back(word.data());
    std::istringstream in(one.input);
    std::ostringstream out;
    auto* const real_in = std::cin.rdbuf(in.rdbuf());
    auto* const real_out = std::cout.rdbuf(out.rdbuf());
    auto* const real_err = std::cerr.rdbuf(out.rdbuf());
    std::cin.clear();
    const int code = run(static_cast<int>(argv.size()), argv.data(), kCommands);
    std::cin.rdbuf(real_in);
    std::cout.rdbuf(real_out);
    std::cerr.rdbuf(real_err);
    return "--- exit " + std::to_string(code) + "\n" + out.str();
}

class CommandCase : public testing::TestWithParam<fs::path> {};

TEST_P(CommandCase, PrintsAsExpected) {
    const Case one = read_case(GetParam());
    const std::string actual = outcome_of(one);
    const std::string input = one.input.empty() ? "" : "--- input\n" + one.input;
    if (cases::rewrites(GetParam(), one.words + '\n' + input + actual)) return;
    EXPECT_EQ(actual, one.expected) << "run with UPDATE_CASES=1 if the new text is right";
}

INSTANTIATE_TEST_SUITE_P(Cases, CommandCase,
                         testing::ValuesIn(cases::files({"src/plan/cases", "src/sizing/cases"})),
                         [](const auto& one) {
                             return one.param.parent_path().parent_path().filename().string() +
                                    "_" + cases::name(one.param);
                         });

class PlanQuestion : public testing::TestWithParam<fs::path> {};

TEST_P(PlanQuestion, IsAnsweredWithTheseLines) {
    const Case one = read_case(GetParam());
    const std::string actual = outcome_of(one);
    std::istringstream expected(one.expected);
    std::size_t at = 0;
    for (std::string line; std::getline(expected, line);) {
        const std::size_t found = actual.find(line + '\n', at);
        ASSERT_NE(found, std::string::npos) << "not found, or not here: " << line << "\n" << actual;
        ASSERT_TRUE(found == 0 || actual[found - 1] == '\n') << line;
        at = found + line.size();
    }
}

INSTANTIATE_TEST_SUITE_P(Questions, PlanQuestion,
                         testing::ValuesIn(cases::files({"src/plan/questions"})),
                         [](const auto& one) { return cases::name(one.param); });

}  // namespace
}  // namespace aliquot::cli
