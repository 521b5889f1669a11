// SPDX-License-Identifier: Apache-2.0
#include "document/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::document {
namespace {

using Kind = Value::Kind;
using testing::HasSubstr;

Value read(const std::string& text) {
    auto stream = parse_yaml(text);
    EXPECT_TRUE(stream.errors.empty()) << text << ": " << stream.errors[0].message;
    EXPECT_EQ(stream.documents.size(), 1U) << text;
    return stream.documents.empty() ? Value{} : std::move(stream.documents[0]);
}

SyntaxError refuse(const std::string& text, const Limits& limits = {}) {
    auto stream = parse_yaml(text, limits);
    EXPECT_EQ(stream.errors.size(), 1U) << text;
    return stream.errors.empty() ? SyntaxError{} : std::move(stream.errors[0]);
}

TEST(Yaml, ScalarsHaveTheKindsOfTheCoreSchema) {
    const std::pair<const char*, Kind> cases[] = {
        {"~", Kind::kNull},         {"null", Kind::kNull},
        {"true", Kind::kBool},      {"False", Kind::kBool},
        {"yes", Kind::kString},     {"off", Kind::kString},
        {"0", Kind::kInteger},      {"-12", Kind::kInteger},
        {"0x1F", Kind::kInteger},   {"0o17", Kind::kInteger},
        {"1.5", Kind::kFloat},      {"1e3", Kind::kFloat},
        {".inf", Kind::kFloat},     {".5", Kind::kFloat},
        {"1.2.3", Kind::kString},   {"60s", Kind::kString},
        {"\"4\"", Kind::kString},   {"'true'", Kind::kString},
        {"!!str 4", Kind::kString}, {"!!int \"4\"", Kind::kInteger},
        {"1_000", Kind::kString},   {".", Kind::kString},
        {"-", Kind::kSequence}};
    for (const auto& [text, kind] : cases) {
        EXPECT_EQ(read("- " + std::string(text)).items.at(0).kind, kind) << text;
    }
}

TEST(Yaml, MarksAreWhereThingsStand) {
    const Value root = read("a: 1\nb:\n  - x\n  - {y: \"z\"}\nc: |\n  text\n");
    EXPECT_EQ(root.mark, (Mark{1, 1}));
    EXPECT_EQ(root.entries[0].second.mark, (Mark{1, 4}));
    EXPECT_EQ(root.entries[1].first.mark, (Mark{2, 1}));
    EXPECT_EQ(root.entries[1].second.mark, (Mark{3, 3}));
    EXPECT_EQ(root.entries[1].second.items[0].mark, (Mark{3, 5}));
    EXPECT_EQ(root.entries[1].second.items[1].entries[0].second.mark, (Mark{4, 9}));
    EXPECT_TRUE(root.entries[1].second.items[1].entries[0].second.quoted);
    EXPECT_TRUE(root.entries[2].second.block);
    EXPECT_EQ(root.entries[2].second.mark, (Mark{5, 4}));
}

TEST(Yaml, ColumnsCountBytesAndNoByteOrderMark) {
    const Value root = read(
        "\xef\xbb\xbf"
        "caf\xc3\xa9: 1\n");
    EXPECT_EQ(root.entries[0].first.scalar, "caf\xc3\xa9");
    EXPECT_EQ(root.entries[0].second.mark, (Mark{1, 8}));
}

TEST(Yaml, AValueThatIsNotWrittenHasTheMarkOfItsKey) {
    const Value root = read("a:\nb: ~\nnull: 3\nc:\n  null\nd:\n");
    EXPECT_EQ(root.entries[0].second.mark, (Mark{1, 1}));
    EXPECT_EQ(root.entries[0].second.scalar, "");
    EXPECT_EQ(root.entries[1].second.mark, (Mark{2, 4}));
    EXPECT_EQ(root.entries[1].second.scalar, "~");
    EXPECT_EQ(root.entries[3].second.mark, (Mark{5, 3}));
    EXPECT_EQ(root.entries[3].second.scalar, "null");
    EXPECT_EQ(root.entries[4].second.mark, (Mark{6, 1}));
    EXPECT_EQ(read("a:\nnull: 3").entries[0].second.mark, (Mark{1, 1}));
}

TEST(Yaml, DuplicateAndMergeKeysStay) {
    const Value root = read("a: 1\na: 2\n<<: {b: 3}\n");
    EXPECT_EQ(root.entries.size(), 3U);
    ASSERT_NE(root.find("a"), nullptr);
    EXPECT_EQ(root.find("a")->scalar, "2");
    EXPECT_EQ(root.entries[2].first.scalar, "<<");
    EXPECT_EQ(root.find("b"), nullptr);
}

TEST(Yaml, AliasesBecomeCopiesWithTheMarksOfTheOriginal) {
    const Value root = read("a: &x {k: v}\nb: *x\n");
    EXPECT_EQ(root.find("b")->find("k")->scalar, "v");
    EXPECT_EQ(root.find("b")->find("k")->mark, (Mark{1, 11}));
}

TEST(Yaml, DocumentsComeInOrderAndEmptyOnesAreNull) {
    const auto stream = parse_yaml("a: 1\n---\n# nothing\n---\nb: 2\n...\n");
    ASSERT_EQ(stream.documents.size(), 3U);
    EXPECT_TRUE(stream.documents[0].is_mapping());
    EXPECT_EQ(stream.documents[1].kind, Kind::kNull);
    EXPECT_EQ(stream.documents[2].mark, (Mark{5, 1}));
    EXPECT_EQ(parse_yaml("a: 1\n...\n\n# words\nb: 2\n").documents.size(), 2U);
    EXPECT_EQ(parse_yaml("a: 1\n...\n%YAML 1.2\n---\nb: 2\n").documents.size(), 2U);
    EXPECT_EQ(parse_yaml("? a\n? b\n").documents.at(0).entries.size(), 2U);
    EXPECT_EQ(parse_yaml("{a, b}").documents.at(0).entries.size(), 2U);
    for (const auto* text : {"", "# only words\n", "\n\n", "---\n"}) {
        EXPECT_EQ(read(text).kind, Kind::kNull) << text;
    }
}

TEST(Yaml, JsonIsYaml) {
    const Value root = read("{\"a\": [1, true, null, \"x\\u00e9\"]}");
    EXPECT_EQ(root.find("a")->items[3].scalar, "x\xc3\xa9");
    EXPECT_EQ(root.find("a")->items[2].kind, Kind::kNull);
}

TEST(Yaml, WhatStandsBeforeAnErrorIsKept) {
    const auto stream = parse_yaml("a: 1\n---\nb: [1\n");
    EXPECT_EQ(stream.documents.size(), 1U);
    EXPECT_EQ(stream.errors.size(), 1U);
}

TEST(Yaml, ErrorsSayWhereAndWhat) {
    const auto tab = refuse("a:\n\tb: 1\n");
    EXPECT_EQ(tab.message, "tab in the indentation at line 2: YAML wants spaces");
    EXPECT_EQ(tab.mark, (Mark{2, 1}));
    EXPECT_EQ(refuse("a:\n  - x\n\t- y\n").mark, (Mark{3, 1}));
    EXPECT_THAT(refuse("a: b: c\n").message, HasSubstr("a second ':'"));
    EXPECT_EQ(refuse("a: b: c\n").mark.line, 1U);
    EXPECT_THAT(refuse("a: [1, 2\n").message, HasSubstr("not closed"));
    EXPECT_THAT(refuse("a: \"x\n").message, HasSubstr("not closed"));
    EXPECT_THAT(refuse("a: *nobody\n").message, HasSubstr("anchor"));
    EXPECT_THAT(refuse("a:\n    b: 1\n  c: 2\n").message, HasSubstr("indentation"));
    EXPECT_THAT(refuse("a: 1\nb\nc: 2\n").message, testing::Not(testing::IsEmpty()));
    EXPECT_THAT(refuse("a: &x [*x]\n").message, HasSubstr("inside"));
    EXPECT_THAT(refuse("- a\nb: 1\n").message, HasSubstr("indentation"));
    EXPECT_THAT(refuse("a:\n  b: 1\n  c\n").message, HasSubstr("'c' has no ':'"));
    EXPECT_EQ(refuse("a:\n  b: 1\n  c\n").mark, (Mark{3, 3}));
}

TEST(Yaml, WhatComesAfterAnEmptyFirstLineEnds) {
    for (const char* text : {"\n,", "\n\n,\n\na: b", " \n,\na", "\n#\n, x", "\n"}) {
        const Stream stream = parse_yaml(text);
        EXPECT_EQ(stream.errors.empty(), std::string_view(text) == "\n") << text;
    }
}

TEST(Yaml, BytesThatNoYamlHasAreRefusedWithTheirPlace) {
    const auto nul = refuse(std::string("a: 1\nb: \0", 9));
    EXPECT_EQ(nul.mark, (Mark{2, 4}));
    EXPECT_THAT(nul.message, HasSubstr("0x00"));
    EXPECT_EQ(refuse("a: \x04\n").mark, (Mark{1, 4}));  // yaml-cpp's own end-of-text byte
    for (const auto* text :
         {"a: \xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe2\x82"}) {
        EXPECT_THAT(refuse(text).message, HasSubstr("UTF-8")) << text;
    }
}

TEST(Yaml, NestingHasALimitWhateverItIsMadeOf) {
    for (const auto* piece : {"[", "{a: ", "- ", "? ", "{? "}) {
        std::string text;
        for (int i = 0; i < 20'000; ++i) text += piece;
        EXPECT_THAT(refuse(text).message, testing::Not(testing::IsEmpty())) << piece;
    }
    std::string steps;
    for (unsigned i = 0; i < 100; ++i) steps += std::string(i, ' ') + "a:\n";
    EXPECT_THAT(refuse(steps).message, HasSubstr("nested deeper than 64 levels"));
}

TEST(Yaml, AliasesCannotMultiplyWithoutLimit) {
    std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
        const auto name = "a" + std::to_string(i);
        const auto below = "*a" + std::to_string(i - 1);
        laughs += name + ": &" + name + " [";
        for (int j = 0; j < 10; ++j) laughs += (j == 0 ? "" : ", ") + below;
        laughs += "]\n";
    }
    EXPECT_THAT(refuse(laughs).message, HasSubstr("values"));

    std::string heavy = "a: &a \"" + std::string(100'000, 'x') + "\"\nb: [";
    for (int j = 0; j < 100; ++j) heavy += "*a, ";
    EXPECT_THAT(refuse(heavy + "]\n").message, HasSubstr("bytes"));

    std::string tower = "a0: &a0 [x]\n";
    for (int i = 1; i < 80; ++i) {
        tower += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" +
                 std::to_string(i - 1) + "]\n";
    }
    EXPECT_THAT(refuse(tower).message, HasSubstr("nested"));
}

TEST(Yaml, SizeAndCountHaveLimits) {
    EXPECT_THAT(refuse("a: 1\n", Limits{.bytes = 4}).message, HasSubstr("4 bytes"));
    EXPECT_THAT(refuse("[1, 2, 3]", Limits{.nodes = 3}).message, HasSubstr("3 values"));
}

// Each such key was looked for from the first line on: 36 s for these, at -O2.
TEST(Yaml, ManyKeysWithoutValuesAreNotQuadratic) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += "k" + std::to_string(i) + ":\n";
    EXPECT_EQ(parse_yaml(text, Limits{.nodes = 1'000'000}).documents.at(0).entries.size(),
              100'000U);
}

TEST(Yaml, DescribesValuesForMessages) {
    EXPECT_EQ(describe(read("4")), "the number 4");
    EXPECT_EQ(describe(read("'4'")), "the text '4'");
    EXPECT_EQ(describe(read("[]")), "an empty list");
    EXPECT_EQ(describe(read("a: 1")), "a mapping");
    EXPECT_EQ(describe(read("true")), "true");
    EXPECT_EQ(describe(read("")), "nothing");
    EXPECT_LT(describe(read(std::string(500, 'x'))).size(), 100U);
}

TEST(Yaml, ANullIsToldFromAKeyOfThatName) {
    const auto entries = [](const char* text) {
        const auto stream = parse_yaml(text);
        EXPECT_TRUE(stream.errors.empty()) << text;
        std::string told;
        for (const auto& [key, value] : stream.documents[0].entries) {
            told += key.scalar + "=" + value.scalar + " ";
        }
        return told;
    };
    EXPECT_EQ(entries("a:\nnull: 1\n"), "a= null=1 ");
    EXPECT_EQ(entries("a: null\nb: 1\n"), "a=null b=1 ");
    EXPECT_EQ(entries("{a, b: ~, c}"), "a= b=~ c= ");
}

}  // namespace
}  // namespace aliquot::document
