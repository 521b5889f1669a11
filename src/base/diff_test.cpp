// SPDX-License-Identifier: Apache-2.0
#include "base/diff.h"

#include <gtest/gtest.h>

#include <string>

namespace aliquot {
namespace {

std::string shown(std::string_view before, std::string_view after) {
    std::string text;
    for (const DiffHunk& hunk : diff_lines(before, after)) {
        text += "@" + std::to_string(hunk.old_begin) + "," + std::to_string(hunk.new_begin) + "\n";
        for (const DiffLine& line : hunk.lines) {
            text += line.sign;
            text += line.text;
        }
    }
    return text;
}

TEST(Diff, EqualTextsHaveNone) {
    EXPECT_EQ(shown("a\n", "a\n"), "");
    EXPECT_EQ(shown("", ""), "");
}

TEST(Diff, ShowsThreeLinesAround) {
    EXPECT_EQ(shown("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n"),
              "@1,1\n 2\n 3\n 4\n-5\n+X\n 6\n 7\n 8\n");
}

TEST(Diff, ChangesFarApartAreHunksOfTheirOwn) {
    EXPECT_EQ(shown("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "1\n2\n3\n4\n5\n6\n7\nb\nc\n"),
              "@0,0\n-a\n 1\n 2\n 3\n@6,5\n 6\n 7\n b\n+c\n");
}

TEST(Diff, AMissingBreakAtTheEndIsADifference) {
    EXPECT_EQ(shown("a\nb", "a\nb\n"), "@0,0\n a\n-b+b\n");
    EXPECT_EQ(shown("", "a\n"), "@0,0\n+a\n");
}

// lint's own search met again at the first equal line within 200, and replaced more than it had to.
TEST(Diff, TakesTheFewestLines) {
    EXPECT_EQ(shown("a\nb\nc\nd\n", "c\na\nb\nc\n"), "@0,0\n+c\n a\n b\n c\n-d\n");
}

TEST(Diff, LargeChangesAreReplacedWhole) {
    std::string before = "same\n";
    for (int i = 0; i < 6000; ++i) before += std::to_string(i) + "\n";
    const auto hunks = diff_lines(before, "same\nx\n");
    ASSERT_EQ(hunks.size(), 1U);
    EXPECT_EQ(hunks[0].lines.size(), 6002U);
}

}  // namespace
}  // namespace aliquot
