// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Text, LowerKnowsAsciiLettersOnly) {
    EXPECT_EQ(lower("NVIDIA A100-40GB [`{@"), "nvidia a100-40gb [`{@");
    EXPECT_EQ(lower("\xc3\x84"), "\xc3\x84");
}

TEST(Text, FoldedComparisonsTakeEitherCase) {
    EXPECT_TRUE(equals_folded("Content-Type", "content-TYPE"));
    EXPECT_FALSE(equals_folded("Content", "Content-Type"));
    EXPECT_FALSE(equals_folded("@", "`"));
    EXPECT_TRUE(starts_with_folded("Bearer x", "bearer "));
    EXPECT_FALSE(starts_with_folded("Bear", "bearer "));
    EXPECT_TRUE(contains_folded("a Tesla T4", "tesla"));
    EXPECT_EQ(find_folded("xXabAB", "Ab"), 2U);
    EXPECT_EQ(find_folded("xXabAB", "aB", 3), 4U);
    EXPECT_EQ(find_folded("aaab", "aab"), 1U);
    EXPECT_EQ(find_folded("ab", "abc"), std::string_view::npos);
    EXPECT_TRUE(contains_folded("", ""));
    EXPECT_FALSE(contains_folded("", "a"));
}

TEST(Text, TrimTakesAllBlanksOrThoseThatAreTold) {
    EXPECT_EQ(trim(" \t\r\n\v\f a b \n"), "a b");
    EXPECT_EQ(trim(" \t "), "");
    EXPECT_EQ(trim("\t a ", " "), "\t a");
}

TEST(Text, SplitKeepsEmptyPartsAndSplitListDropsThem) {
    EXPECT_THAT(split(",a,, b,", ','), ElementsAre("", "a", "", " b", ""));
    EXPECT_THAT(split("", ','), ElementsAre(""));
    EXPECT_THAT(split_list(",a,, b ,"), ElementsAre("a", "b"));
    EXPECT_THAT(split_list(" , "), IsEmpty());
    EXPECT_THAT(split_list("a:b", ':'), ElementsAre("a", "b"));
}

TEST(Text, WordsStandBetweenBlanks) {
    EXPECT_THAT(words_of("  a\tb \n c"), ElementsAre("a", "b", "c"));
    EXPECT_THAT(words_of(" "), IsEmpty());
}

TEST(Text, ABreakAtTheEndBeginsNoLine) {
    EXPECT_THAT(lines_of("a\n\nb\n"), ElementsAre("a", "", "b"));
    EXPECT_THAT(lines_of("a\n\nb"), ElementsAre("a", "", "b"));
    EXPECT_THAT(lines_of("\n"), ElementsAre(""));
    EXPECT_THAT(lines_of(""), IsEmpty());
    std::vector<std::string> seen;
    for_each_line("a\r\n\nb", [&](std::string_view line, unsigned number) {
        seen.push_back(std::to_string(number) + std::string(line));
    });
    EXPECT_THAT(seen, ElementsAre("1a", "2", "3b"));
}

// Of 27 joins some began with the separator when the first part was empty, others lost it.
TEST(Text, JoinPutsTheSeparatorBetweenAllParts) {
    EXPECT_EQ(join(std::vector<std::string>{"a", "b", "c"}), "a, b, c");
    EXPECT_EQ(join(std::vector<std::string>{"", "", "c"}, "-"), "--c");
    EXPECT_EQ(join(std::vector<std::string_view>{}), "");
    EXPECT_EQ(concat({"a", "b", ""}), "ab");
    EXPECT_EQ(after("key: value", ": "), "value");
    EXPECT_EQ(after("key", ": "), "");
}

TEST(Text, Utf8CharactersAreMeasured) {
    EXPECT_EQ(utf8_length("a"), 1U);
    for (const char32_t code :
         {U'\x7f', U'\u00e4', U'\u07ff', U'\u0800', U'\uffff', U'\U00010000', U'\U0010ffff'}) {
        std::string text;
        append_utf8(text, code);
        EXPECT_EQ(utf8_length(text), text.size()) << static_cast<unsigned>(code);
        EXPECT_EQ(utf8_length(text.substr(0, text.size() - 1) + "a"), code < 0x80U ? 1U : 0U);
    }
    EXPECT_EQ(utf8_length("\xe0\x80\xaf"), 0U);      // overlong
    EXPECT_EQ(utf8_length("\xed\xa0\x80"), 0U);      // a surrogate
    EXPECT_EQ(utf8_length("\xf4\x90\x80\x80"), 0U);  // beyond Unicode
    EXPECT_EQ(utf8_length("\x80"), 0U);
}

}  // namespace
}  // namespace aliquot
