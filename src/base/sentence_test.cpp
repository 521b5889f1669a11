// SPDX-License-Identifier: Apache-2.0
#include "base/sentence.h"

#include <gtest/gtest.h>

#include <vector>

namespace aliquot {
namespace {

TEST(Sentence, ListsWhatIsMadeOfEach) {
    const std::vector<int> numbers{1, 2, 3};
    const auto text = [](int number) { return std::to_string(number); };
    EXPECT_EQ(listed(numbers, text), "1, 2, 3");
    EXPECT_EQ(listed(numbers, text, " or "), "1 or 2 or 3");
    EXPECT_EQ(listed(std::vector<int>{}, text), "");
    const std::vector<std::pair<std::string, int>> pairs{{"", 1},
                                                         {"b", 2}};  // an empty first one, too
    EXPECT_EQ(listed(pairs, &std::pair<std::string, int>::first), ", b");
}

TEST(Sentence, CountsAndAsksBack) {
    EXPECT_EQ(counted(1, "node"), "1 node");
    EXPECT_EQ(counted(0, "node"), "0 nodes");
    EXPECT_EQ(did_you_mean("replicas"), ", did you mean 'replicas'?");
    EXPECT_EQ(did_you_mean(""), "");
}

TEST(Sentence, StaysOnOneLineWhateverItQuotes) {
    EXPECT_EQ(one_line("a\nb\t\x1b[1m\x7f c"), "a b  [1m  c");
    EXPECT_EQ(one_line("abcdef", 6), "abcdef");
    EXPECT_EQ(one_line("abcdef", 3), "abc...");
    EXPECT_EQ(one_line("ab\xc3\xa4", 3), "ab...");  // not in the middle of a character
    EXPECT_EQ(one_line("\xc3\xa4", 1), "...");
    EXPECT_EQ(one_line("\xa4\xa4", 1), "...");  // no UTF-8 at all
}

}  // namespace
}  // namespace aliquot
