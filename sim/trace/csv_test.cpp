// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/csv.h"

#include <gtest/gtest.h>

#include <array>

#include "sim/trace/pair_list.h"

namespace aliquot::sim::trace {
namespace {

std::vector<std::string> row_of(std::string_view text) {
    CsvReader reader("f", text);
    const auto row = reader.next();
    EXPECT_TRUE(row) << row.error().message;
    std::vector<std::string> fields;
    for (const CsvField& field : reader.fields()) fields.emplace_back(field.text);
    return fields;
}

std::string error_of(std::string_view text, CsvLimits limits = {}) {
    CsvReader reader("f", text, limits);
    while (true) {
        const auto row = reader.next();
        if (!row) return row.error().message;
        if (!*row) return "";
    }
}

using Fields = std::vector<std::string>;

TEST(CsvReader, TakesQuotesBlanksAndBothLineEnds) {
    EXPECT_EQ(row_of("a,b,\r\n"), (Fields{"a", "b", ""}));
    EXPECT_EQ(row_of("\xEF\xBB\xBF a , \"b, \"\"c\"\"\" ,d"), (Fields{"a", "b, \"c\"", "d"}));
    EXPECT_EQ(row_of("# a comment\n\n  \nx"), (Fields{"x"}));
    EXPECT_EQ(row_of(",\"\""), (Fields{"", ""}));
}

TEST(CsvReader, ColumnsOfFieldsCountBytesFromOneAndKnowTheByteOrderMark) {
    CsvReader reader("f",
                     "\xEF\xBB\xBF"
                     "ab, c\nd,\"e\"");
    ASSERT_TRUE(*reader.next());
    EXPECT_EQ(reader.fields()[0].column, 4U);
    EXPECT_EQ(reader.fields()[1].column, 8U);
    ASSERT_TRUE(*reader.next());
    EXPECT_EQ(reader.line(), 2U);
    EXPECT_EQ(reader.fields()[1].column, 3U);
    EXPECT_FALSE(*reader.next());
}

TEST(CsvReader, RefusesWhatIsNoCsvWithItsPlace) {
    EXPECT_TRUE(error_of("a\nb,\"c\nd\"").starts_with("f:2:3: a quote is opened"));
    EXPECT_TRUE(error_of("a,b\"c").starts_with("f:1:4: 'b\"c' has a quote inside"));
    EXPECT_TRUE(error_of("\"a\"x,b").starts_with("f:1:4: 'x' behind a closed quote"));
    EXPECT_TRUE(error_of(std::string_view("a,\0", 3)).starts_with("f:1:3: a NUL byte"));
    EXPECT_TRUE(error_of("a\rb\rc").starts_with("f:1:2: a carriage return"));
}

TEST(CsvReader, HasLimits) {
    EXPECT_TRUE(error_of("aaaa", {.bytes = 3}).contains("the file has 4 bytes"));
    EXPECT_TRUE(error_of("a\naaaa", {.line_bytes = 3}).starts_with("f:2:1: the line has 4 bytes"));
    EXPECT_TRUE(error_of("a,b,c", {.columns = 2}).starts_with("f:1:5: more than 2 fields"));
    EXPECT_TRUE(error_of("a\nb\nc", {.rows = 2}).starts_with("f:3:1: more than 2 rows"));
}

TEST(CsvTable, ReadsNumbersDecimalsAndFlags) {
    CsvReader reader("f", "x,price,on,other\n12,3.0605,TRUE,?\n,.5,,\n");
    CsvTable table(reader);
    constexpr std::array<std::string_view, 3> kColumns{"price", "x", "on"};
    ASSERT_TRUE(table.read_header("a list", kColumns, 2));
    ASSERT_TRUE(*table.next());
    EXPECT_EQ(*table.number(1, 0, 12), 12);
    EXPECT_EQ(table.number(1, 0, 11).error().message,
              "f:2:1: x is '12': a whole number from 0 to 11 was expected");
    EXPECT_EQ(*table.decimal(0, 1000, 10), 3061);
    EXPECT_TRUE(*table.flag(2));
    ASSERT_TRUE(*table.next());
    const std::int64_t seven = 7;
    EXPECT_EQ(*table.number(1, 0, 12, &seven), 7);
    EXPECT_EQ(*table.decimal(0, 1000, 10), 500);
    EXPECT_FALSE(*table.flag(2));
}

TEST(Shown, IsShortAndPrintable) {
    EXPECT_EQ(shown("a\tb\x1b"), "'a?b?'");
    EXPECT_EQ(shown(std::string(50, 'x')), "'" + std::string(40, 'x') + "...'");
    EXPECT_EQ(shown(std::string(39, 'x') + "\xC3\xA4y"), "'" + std::string(39, 'x') + "...'");
}

TEST(ParsePairs, ReadsLabelsAndRefusesWhatIsNone) {
    EXPECT_EQ(*parse_pairs("a=1; b = x=y ;", nullptr), (Pairs{{"a", "1"}, {"b", "x=y"}}));
    EXPECT_EQ(*parse_pairs("gpu;a=", "*"), (Pairs{{"gpu", "*"}, {"a", ""}}));
    EXPECT_FALSE(parse_pairs("gpu", nullptr));
    EXPECT_FALSE(parse_pairs("=1", "*"));
    EXPECT_FALSE(parse_pairs("a=1;a=2", nullptr));
}

}  // namespace
}  // namespace aliquot::sim::trace
