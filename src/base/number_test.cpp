// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace aliquot {
namespace {

TEST(Number, IsTheWholeText) {
    EXPECT_EQ(parse_number<int>("-42"), -42);
    EXPECT_EQ(parse_number<unsigned>("007"), 7U);
    EXPECT_EQ(parse_number<unsigned>("ff", 16), 255U);
    EXPECT_EQ(parse_number<double>("1e3"), 1000.0);
    for (const char* const text : {"", " 1", "1 ", "+1", "1x", "0x1", "-"}) {
        EXPECT_FALSE(parse_number<int>(text)) << text;
        EXPECT_FALSE(parse_number<double>(text)) << text;
    }
    EXPECT_FALSE(parse_number<unsigned>("-1"));
}

TEST(Number, FitsItsType) {
    EXPECT_EQ(parse_number<std::uint8_t>("255"), std::uint8_t{255});
    EXPECT_FALSE(parse_number<std::uint8_t>("256"));
    EXPECT_FALSE(parse_number<std::int64_t>("9223372036854775808"));
    EXPECT_FALSE(parse_number<double>("1e999"));
}

// Three readers took these for numbers: no amount, percentage or price is infinite.
TEST(Number, IsFinite) {
    for (const char* const text : {"inf", "-inf", "nan", "infinity"})
        EXPECT_FALSE(parse_number<double>(text)) << text;
}

TEST(Number, StandsAtTheFrontOrIsHexadecimal) {
    EXPECT_EQ(leading_number(" 580.95"), 580);
    EXPECT_FALSE(leading_number("x1"));
    EXPECT_EQ(parse_hex("0x10de\n"), 0x10deU);
    EXPECT_EQ(parse_hex("10DE"), 0x10deU);
    for (const char* const text : {"", "0x", "0xg", "-1", "0x1 2"})
        EXPECT_FALSE(parse_hex(text)) << text;
}

TEST(Number, ADecimalHasNoExponent) {
    EXPECT_EQ(parse_decimal("0.25"), 0.25);
    EXPECT_EQ(parse_decimal("-3"), -3.0);
    EXPECT_FALSE(parse_decimal("1e3"));
    EXPECT_FALSE(parse_decimal("inf"));
    EXPECT_FALSE(parse_decimal("1-2"));
}

TEST(Number, ATakenNumberLeavesWhatFollows) {
    std::string_view text = "12.5rest";
    EXPECT_EQ(take_number<unsigned>(text), 12U);
    EXPECT_EQ(text, ".5rest");
    EXPECT_FALSE(take_number<unsigned>(text));
    EXPECT_EQ(text, ".5rest");
}

TEST(Number, DecimalsEndWithoutZeros) {
    EXPECT_EQ(fixed_text(95.6, 2), "95.60");
    EXPECT_EQ(decimal_text(95.6, 2), "95.6");
    EXPECT_EQ(decimal_text(100, 2), "100");
    EXPECT_EQ(decimal_text(-0.001, 2), "0");
    EXPECT_EQ(decimal_text(-0.25, 2), "-0.25");
    EXPECT_EQ(decimal_text(0.0 / 0.0), "0");
    EXPECT_EQ(decimal_text(1e20, 1), "100000000000000000000");
}

}  // namespace
}  // namespace aliquot
