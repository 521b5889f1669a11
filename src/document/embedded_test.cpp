// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "document/text_check.h"
#include "document/yaml.h"

namespace aliquot::document {
namespace {

/// Reads outer -> data -> x -> its own YAML, and says which outer text stands at the value of `k`.
std::string text_at_k(const std::string& outer) {
    const auto stream = parse_yaml(outer);
    if (!stream.errors.empty()) return "outer: " + stream.errors[0].message;
    const Value* data = stream.documents[0].find("data");
    const Value* scalar = data == nullptr ? nullptr : data->find("x");
    if (scalar == nullptr) return "no data.x";
    const auto inner = parse_embedded(outer, *scalar);
    if (!inner.errors.empty()) return "inner: " + inner.errors[0].message;
    const Value* value = inner.documents[0].find("k");
    if (value == nullptr) return "no k";
    const auto line = line_of(outer, value->mark.line);
    return std::string(line.substr(value->mark.column - 1));
}

TEST(Embedded, MarksAreThoseOfTheOuterText) {
    EXPECT_EQ(text_at_k("data:\n  x: |\n    a: 1\n    k: here\n"), "here");
    EXPECT_EQ(text_at_k("data:\n  x: |-\n      k: here"), "here");
    EXPECT_EQ(text_at_k("data:\n  x: |+   # why\n    k: here\n\n\n"), "here");
    EXPECT_EQ(text_at_k("data:\n  x: |\n\n\n    # first\n\n    k: here\n"), "here");
    EXPECT_EQ(text_at_k("data:\n  x: |2\n    k: here\n"), "here");
    EXPECT_EQ(text_at_k("data:\n  x: |1-\n     k: here\n"), "here");
    EXPECT_EQ(text_at_k("data:\n  x: !!str |\n    k: here\n"), "here");
    EXPECT_EQ(text_at_k("data:\n  x: &a\n    |\n    k: here\n"), "here");
    EXPECT_EQ(text_at_k("data:\r\n  x: |\r\n    a: 1\r\n    k: here\r\n"), "here");
    EXPECT_EQ(text_at_k("items: [1]\ndata: {x: \"k: here\"}\n"), "\"k: here\"}");
    EXPECT_EQ(text_at_k("data:\n  x: k\\\n"), "no k");
    EXPECT_EQ(text_at_k("{\"data\": {\"x\": \"a: 1\\nk: here\"}}"), "\"a: 1\\nk: here\"}}");
}

TEST(Embedded, AFoldedScalarPointsAtItself) {
    EXPECT_EQ(text_at_k("data:\n  x: >\n    k: here\n"), ">");
}

TEST(Embedded, ErrorsHaveTheirPlaceInTheOuterText) {
    const std::string outer = "data:\n  x: |\n    a: 1\n    b: [1\n";
    const auto stream = parse_yaml(outer);
    const auto inner = parse_embedded(outer, *stream.documents[0].find("data")->find("x"));
    ASSERT_EQ(inner.errors.size(), 1U);
    EXPECT_GE(inner.errors[0].mark.line, 2U);
    EXPECT_LE(inner.errors[0].mark.line, 4U);
}

TEST(Embedded, ATabInsideIsTold) {
    const std::string outer = "data:\n  x: |\n    a:\n    \tb: 1\n";
    const auto stream = parse_yaml(outer);
    const auto inner = parse_embedded(outer, *stream.documents[0].find("data")->find("x"));
    ASSERT_EQ(inner.errors.size(), 1U);
    EXPECT_EQ(inner.errors[0].mark, (Mark{4, 5}));
    EXPECT_NE(inner.errors[0].message.find("tab in the indentation"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::document
