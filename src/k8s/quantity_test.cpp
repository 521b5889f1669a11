// SPDX-License-Identifier: Apache-2.0
#include "k8s/quantity.h"

#include <gtest/gtest.h>

#include <vector>

namespace aliquot::k8s {
namespace {

using Format = Quantity::Format;

struct Read {
    const char* text;
    double mantissa;
    int exponent;  // of 10
    Format format = Format::kDecimal;
};

Quantity::Nanos nanos_of(const Read& one) {
    auto value = static_cast<Quantity::Nanos>(one.mantissa);
    for (int i = 0; i < one.exponent + 9; ++i) value *= 10;
    return value;
}

constexpr double kKi = 1024;
constexpr double kMi = kKi * kKi;
constexpr double kGi = kMi * kKi;
constexpr double kTi = kGi * kKi;
constexpr double kPi = kTi * kKi;
constexpr double kEi = kPi * kKi;

// The facts of TestQuantityParse of k8s.io/apimachinery.
const std::vector<Read> kPublished = {
    {"0", 0, 0},
    {"0n", 0, 0},
    {"0Ki", 0, 0, Format::kBinary},
    {"0k", 0, 0},
    {"0Ti", 0, 0, Format::kBinary},
    {"1", 1, 0},
    {"1Ki", kKi, 0, Format::kBinary},
    {"8Ki", 8 * kKi, 0, Format::kBinary},
    {"7Mi", 7 * kMi, 0, Format::kBinary},
    {"6Gi", 6 * kGi, 0, Format::kBinary},
    {"5Ti", 5 * kTi, 0, Format::kBinary},
    {"4Pi", 4 * kPi, 0, Format::kBinary},
    {"3Ei", 3 * kEi, 0, Format::kBinary},
    {"100Ti", 100 * kTi, 0, Format::kBinary},
    {"5n", 5, -9},
    {"4u", 4, -6},
    {"3m", 3, -3},
    {"9", 9, 0},
    {"50k", 5, 4},
    {"7M", 7, 6},
    {"6G", 6, 9},
    {"300T", 3, 14},
    {"2P", 2, 15},
    {"1E", 1, 18},
    {"1E-3", 1, -3, Format::kExponent},
    {"1e3", 1, 3, Format::kExponent},
    {"1E6", 1, 6, Format::kExponent},
    {"1e14", 1, 14, Format::kExponent},
    {"1E18", 1, 18, Format::kExponent},
    {"100.035k", 100035, 0},
    {"0.001", 1, -3},
    {"0.0005k", 5, -1},
    {"0.00500", 5, -3},
    {"0.5e0", 5, -1, Format::kExponent},
    {"0.5e-2", 5, -3, Format::kExponent},
    {"1.3E+6", 13, 5, Format::kExponent},
    {"1.7E18", 17, 17, Format::kExponent},
    {"9.01", 901, -2},
    {"6.987654321G", 6987654321, 0},
    {"2.5P", 25, 14},
    {"1.01E", 101, 16},
    {"3.001n", 4, -9},
    {"1.1E-9", 2, -9, Format::kExponent},
    {"0.0000000001", 1, -9},
    {"0.00000000050", 1, -9},
    {"0.5e-9", 1, -9, Format::kExponent},
    {"0.9n", 1, -9},
    {"0.00000012345", 124, -9},
    {"0.00000012354", 124, -9},
    {"12E", 12, 18},
    {"100.035Ki", 10243584, -2, Format::kBinary},
    {"0.5Mi", kMi / 2, 0, Format::kBinary},
    {"0.05Gi", 536870912, -1, Format::kBinary},
    {"0.025Ti", 274877906944, -1, Format::kBinary},
    {"0.000000000001Ki", 2, -9},
    {".001", 1, -3},
    {".0001k", 100, -3},
    {"1.", 1, 0},
    {"1.G", 1, 9},
};

TEST(Quantity, ReadsWhatKubernetesPublishesAsItsCases) {
    for (const Read& one : kPublished) {
        const std::string text = one.text;
        for (const char* sign : {"", "+", "-"}) {
            const auto read = Quantity::parse(sign + text);
            ASSERT_TRUE(read) << sign << text;
            const Quantity::Nanos expected = *sign == '-' ? -nanos_of(one) : nanos_of(one);
            EXPECT_TRUE(read->nanos() == expected) << sign << text << " is " << read->value();
            EXPECT_EQ(read->format(), one.format) << sign << text;
        }
    }
}

TEST(Quantity, BinaryAmountsAreCutToTheMostThereIs) {
    for (const char* text : {"9Ei", "8Ei", "9223372036854775807Ki", "99999999999999999999999Gi"}) {
        const auto read = Quantity::parse(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(read->ones(), INT64_MAX) << text;
    }
    EXPECT_EQ(Quantity::parse("-9Ei")->ones(), -INT64_MAX);
}

TEST(Quantity, RefusesTheRest) {
    for (const char* text :
         {"",    "1.1.M", "1+1.0M", "0.1mi", "0.1am", "aoeu",  ".5i",  "1i",   "-3.01i",
          "1e-", " 1",    "1 ",     "m",     "1x",    "1 Gi",  "--1",  "e3",   "1Gi2",
          "1mm", "0x10",  "1KiB",   "inf",   "nan",   "-inf",  "+",    ".",    "1e99",
          "1gi", "1e",    "1K",     "+-1",   "1e+",   "1e+-3", "1ee3", "1.5.", "99999999999E"}) {
        EXPECT_FALSE(Quantity::parse(text)) << text;
    }
}

TEST(Quantity, InAFieldMayHaveBlanksAround) {
    EXPECT_EQ(quantity_value(" 4Gi "), 4 * kGi);
    EXPECT_EQ(quantity_value("\t1\n"), 1);
    EXPECT_FALSE(quantity_value("4 Gi"));
    EXPECT_FALSE(quantity_value(" "));
}

TEST(Quantity, WhatOurOwnReadersDisagreedAbout) {
    EXPECT_EQ(quantity_value("1e3"), 1000);
    EXPECT_EQ(quantity_value("1P"), 1e15);
    EXPECT_EQ(quantity_value("16Pi"), 16 * kPi);
    EXPECT_EQ(quantity_value("+5Gi"), 5 * kGi);
    EXPECT_FALSE(quantity_value("inf"));
    EXPECT_FALSE(quantity_value("nan"));
}

TEST(Quantity, HasOneSpelling) {
    const std::pair<const char*, const char*> cases[] = {{"1024Mi", "1Gi"},
                                                         {"307200Ki", "300Mi"},
                                                         {"6Ki", "6Ki"},
                                                         {"1025024Mi", "1001Gi"},
                                                         {"1024Gi", "1Ti"},
                                                         {"5000m", "5"},
                                                         {"0.5", "500m"},
                                                         {"1000M", "1G"},
                                                         {"0.001T", "1G"},
                                                         {"1000u", "1m"},
                                                         {"80m", "80m"},
                                                         {"1.08", "1080m"},
                                                         {"1080000000n", "1080m"},
                                                         {"300M", "300M"},
                                                         {"1234567M", "1234567M"},
                                                         {"1234567m", "1234567m"},
                                                         {"3k", "3k"},
                                                         {"1025", "1025"},
                                                         {"00", "0"},
                                                         {".001e12", "1e9"},
                                                         {"0.001e0", "1e-3"},
                                                         {"1000e-12", "1e-9"},
                                                         {"80e-3", "80e-3"},
                                                         {"300e6", "300e6"},
                                                         {"1e12", "1e12"},
                                                         {"3e3", "3e3"},
                                                         {"80n", "80n"},
                                                         {"1080u", "1080u"},
                                                         {".001Ki", "1024m"},
                                                         {".000001Ki", "1024u"},
                                                         {".000000001Ki", "1024n"},
                                                         {".000000000001Ki", "2n"},
                                                         {"1", "1"},
                                                         {"1000m", "1"},
                                                         {"1500Mi", "1500Mi"},
                                                         {"1e3", "1e3"},
                                                         {"0", "0"},
                                                         {"1.5Gi", "1536Mi"},
                                                         {"1000", "1k"},
                                                         {"100000k", "100M"},
                                                         {"0.1Ki", "102400m"},
                                                         {"512", "512"},
                                                         {"2048", "2048"},
                                                         {".5", "500m"},
                                                         {"5.", "5"},
                                                         {"100n", "100n"},
                                                         {"12E", "12E"},
                                                         {"1.5e21", "1500e18"},
                                                         {"1023Ki", "1023Ki"},
                                                         {"0.5Ki", "512"}};
    for (const auto& one : cases) {
        const std::string text = one.first;
        ASSERT_TRUE(Quantity::parse(text)) << text;
        EXPECT_EQ(Quantity::parse(text)->canonical(), one.second) << text;
        if (one.second == std::string("0")) continue;
        EXPECT_EQ(Quantity::parse("-" + text)->canonical(), std::string("-") + one.second) << text;
        EXPECT_EQ(Quantity::parse("+" + text)->canonical(), one.second) << text;
    }
}

TEST(Quantity, IsRoundedAwayFromZero) {
    const auto thousandths = [](const char* text) {
        return Quantity::parse(text)->thousandths().value_or(-7);
    };
    EXPECT_EQ(thousandths("+2"), 2000);
    EXPECT_EQ(thousandths("500m"), 500);
    EXPECT_EQ(thousandths("1u"), 1);
    EXPECT_EQ(thousandths("100n"), 1);
    EXPECT_EQ(thousandths("15E-1"), 1500);
    EXPECT_EQ(thousandths("1.5Gi"), 1610612736000);
    EXPECT_EQ(thousandths("-9.0101"), -9011);
    EXPECT_EQ(thousandths("8Ei"), -7) << "beyond 2^63 thousandths";
    EXPECT_EQ(Quantity::parse("9.01")->ones(), 10);
    EXPECT_EQ(Quantity::parse("-9.01")->ones(), -10);
    EXPECT_FALSE(Quantity::parse("12E")->ones());
}

}  // namespace
}  // namespace aliquot::k8s
