// SPDX-License-Identifier: Apache-2.0
#include "base/take_text.h"

#include <gtest/gtest.h>

namespace aliquot {
namespace {

TEST(TakeText, CutsThePartsOffInOrder) {
    std::string_view text = "a::b";
    EXPECT_EQ(take_until(text, ':'), "a");
    EXPECT_EQ(take_until(text, ':'), "");
    EXPECT_EQ(text, "b");
    EXPECT_EQ(take_until(text, ':'), "b");
    EXPECT_EQ(take_until(text, ':'), "");
    text = "one\n\ntwo";
    EXPECT_EQ(take_line(text), "one");
    EXPECT_EQ(take_line(text), "");
    EXPECT_EQ(take_line(text), "two");
}

TEST(TakeText, TakesWordsAcrossAnyBlanks) {
    std::string_view text = " \t42 (a b)\n";
    EXPECT_EQ(take_word(text), "42");
    EXPECT_EQ(take_word(text), "(a");
    EXPECT_EQ(take_word(text), "b)");
    EXPECT_EQ(take_word(text), "");
    EXPECT_TRUE(text.empty());
}

}  // namespace
}  // namespace aliquot
