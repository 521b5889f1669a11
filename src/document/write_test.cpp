// SPDX-License-Identifier: Apache-2.0
#include "document/write.h"

#include <gtest/gtest.h>

#include <string>

#include "document/build.h"
#include "document/test_values.h"
#include "document/yaml.h"

namespace aliquot::document {
namespace {

TEST(Write, BlockStyleLooksAsAPersonWritesIt) {
    const auto read = parse_yaml(
        "{sharing: {timeSlicing: {renameByDefault: false, resources: [{name: nvidia.com/gpu, "
        "replicas: 2}]}}}");
    ASSERT_EQ(read.documents.size(), 1U);
    EXPECT_EQ(to_yaml(read.documents[0]),
              "sharing:\n"
              "  timeSlicing:\n"
              "    renameByDefault: false\n"
              "    resources:\n"
              "    - name: nvidia.com/gpu\n"
              "      replicas: 2\n");
}

TEST(Write, WhatIsWrittenReadsAsTheSame) {
    for (const auto* text :
         {"a: 1", "[1, 2, [3, {a: b}], {}]", "a: \"yes\"\nb: 'null'\nc: \"1\"\nd: ''",
          "data:\n  x: |\n    l1\n      l2\n\n    l3\n  y: |-\n    a\n    b\n  z: |+\n    a\n\n",
          "a: \"tab\\there\"", "a: ' lead'\nb: 'trail '\nc: 'x: y'\nd: 'x #y'\n'e: f': g",
          "- - - deep\n    - x\n  - y\n- z", "a: {}\nb: []\nc:\nd: ~", "\"quote\\\"\\\\\": 1",
          "just text", "- \"\\n\\nx\"\n- \"  x\\ny\"", "2024-01-01", "'2024-01-01'", "\"a\\r\\nb\"",
          "x: [ [ ], [ { } ] ]"}) {
        const auto once = parse_yaml(text);
        ASSERT_TRUE(once.errors.empty()) << text << ": " << once.errors[0].message;
        const std::string written = to_yaml(once.documents[0]);
        const auto twice = parse_yaml(written);
        ASSERT_TRUE(twice.errors.empty()) << written << ": " << twice.errors[0].message;
        EXPECT_TRUE(same(once.documents[0], twice.documents[0])) << text << "\n->\n" << written;
    }
}

TEST(Write, WhateverEndsALineSomewhereIsRead) {
    for (const std::string special :
         {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf", "\xc2\x80", "\xc2\x9f",
          "\xef\xbf\xbe", "\xef\xbf\xbf", "\r", "\r\n", "\x7f", "\t", "\v", "\x01"}) {
        for (const std::string& value :
             {special, "a" + special, special + "a", "a" + special + "b", "a\n" + special + "\nb",
              "a\n  " + special, "key" + special + ": b", "a" + special + " #b"}) {
            Value mapping = make_mapping();
            append(mapping, value, make_string(value));
            const std::string written = to_yaml(mapping);
            const auto read = parse_yaml(written);
            ASSERT_TRUE(read.errors.empty()) << written << ": " << read.errors[0].message;
            EXPECT_TRUE(same(mapping, read.documents[0])) << written;
        }
    }
}

TEST(Write, ATimeIsNoTimestampToReadersOfYaml11) {
    for (const char* const time : {"2026-11-28T09:00:00Z", "2026-11-28", "2026-11-28 09:00:00"}) {
        EXPECT_EQ(to_yaml(make_mapping({{"at", time}})), "at: \"" + std::string(time) + "\"\n");
    }
    EXPECT_EQ(to_yaml(make_mapping({{"name", "pod-1234-56-x"}})), "name: pod-1234-56-x\n");
}

TEST(Write, AnIndentMovesEveryLine) {
    EXPECT_EQ(to_yaml(parse_yaml("a: {b: [1, {c: 2, d: 3}]}").documents[0], 4),
              "    a:\n      b:\n      - 1\n      - c: 2\n        d: 3\n");
    EXPECT_EQ(to_yaml(make_string("x"), 2), "  x\n");
}

}  // namespace
}  // namespace aliquot::document
