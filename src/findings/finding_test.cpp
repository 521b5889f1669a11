// SPDX-License-Identifier: Apache-2.0
#include "findings/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace aliquot::findings {
namespace {

using testing::HasSubstr;
using testing::Not;

Finding at(unsigned line, unsigned column, std::string rule) {
    return {.file = "a.yaml", .line = line, .column = column, .rule = std::move(rule)};
}

const Finding kMisplaced{.file = "a.yaml",
                         .line = 9,
                         .column = 5,
                         .rule = "DPC003",
                         .severity = Severity::kError,
                         .message = "'replicas' is not a key of \"sharing\"",
                         .expected = "an entry",
                         .fix = "sharing:\n  timeSlicing: {}\n"};

TEST(Findings, AreSortedByPlaceWithoutDuplicates) {
    std::vector<Finding> findings{at(3, 1, "B"), at(1, 9, "C"), at(1, 2, "A"),
                                  at(3, 1, "A"), at(3, 1, "B"), at(0, 0, "Z")};
    sort(findings);
    std::vector<Finding> expected{at(0, 0, "Z"), at(1, 2, "A"), at(1, 9, "C"), at(3, 1, "B"),
                                  at(3, 1, "A")};
    EXPECT_EQ(findings, expected);
}

TEST(Findings, OnlyErrorsCountAsErrors) {
    std::vector<Finding> findings{at(1, 1, "A")};
    EXPECT_TRUE(has_errors(findings));
    findings[0].severity = Severity::kWarning;
    EXPECT_FALSE(has_errors(findings));
    EXPECT_FALSE(has_errors({}));
}

TEST(Findings, TextLooksLikeACompilersAndIndentsFurtherLines) {
    std::ostringstream out;
    print_text(out, std::vector<Finding>{kMisplaced}, Colour::kNever);
    EXPECT_EQ(out.str(),
              "a.yaml:9:5: error DPC003 'replicas' is not a key of \"sharing\"\n"
              "  expected: an entry\n"
              "  fix: sharing:\n"
              "         timeSlicing: {}\n");
}

TEST(Findings, TextOfAWholeFileHasNoLineNumber) {
    std::ostringstream out;
    print_text(out, std::vector<Finding>{at(0, 0, "A")}, Colour::kNever);
    EXPECT_EQ(out.str(), "a.yaml: error A \n");
}

TEST(Findings, ColourIsOnlyThereWhenAskedFor) {
    std::ostringstream plain;
    std::ostringstream coloured;
    print_text(plain, std::vector<Finding>{kMisplaced}, Colour::kNever);
    print_text(coloured, std::vector<Finding>{kMisplaced}, Colour::kAnsi);
    EXPECT_THAT(plain.str(), Not(HasSubstr("\x1b")));
    EXPECT_THAT(coloured.str(), HasSubstr("\x1b[1;31merror\x1b[0m"));
}

TEST(Findings, TextCannotCarryControlBytesToATerminal) {
    std::ostringstream out;
    auto finding = at(1, 1, "A");
    finding.message = "bad \x1b[2J\nbyte";
    finding.fix = "x: \x1b[2J";
    print_text(out, std::vector<Finding>{finding}, Colour::kNever);
    const std::string text = out.str();
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(Findings, JsonHasExactlyTheFieldsOfTheContract) {
    const auto read = to_json(std::vector<Finding>{kMisplaced});
    EXPECT_EQ(read["schemaVersion"], 1);
    ASSERT_EQ(read["findings"].size(), 1U);
    std::vector<std::string> keys;
    for (const auto& [key, value] : read["findings"][0].items()) keys.push_back(key);
    EXPECT_EQ(keys, (std::vector<std::string>{"file", "line", "column", "rule", "severity",
                                              "message", "expected", "why", "fix", "doc"}));
    EXPECT_EQ(read["findings"][0]["line"], 9);
    EXPECT_EQ(read["findings"][0]["severity"], "error");
    EXPECT_EQ(read["findings"][0]["fix"], kMisplaced.fix);
}

TEST(Findings, JsonOfNothingIsAnEmptyList) {
    EXPECT_EQ(to_json(std::vector<Finding>{}).dump(), R"({"schemaVersion":1,"findings":[]})");
}

TEST(Findings, TableColumnsFitTheirContent) {
    std::ostringstream out;
    print_table(out, std::vector<Finding>{kMisplaced});
    EXPECT_EQ(out.str(),
              "FILE    LINE  COLUMN  SEVERITY  RULE    MESSAGE\n"
              "a.yaml  9     5       error     DPC003  'replicas' is not a key of \"sharing\"\n");
}

}  // namespace
}  // namespace aliquot::findings
