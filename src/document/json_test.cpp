// SPDX-License-Identifier: Apache-2.0
#include "document/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "document/write.h"
#include "document/yaml.h"

namespace aliquot::document {
namespace {

TEST(Json, IsReadBackAsTheSameValues) {
    Node root = make_mapping();
    append(root, "name", make_string("a \"b\" \\ \n\t\x01 c"));
    append(root, "count", make_integer(3));
    append(root, "share", make_number(0.25));
    append(root, "whole", make_number(7.0));
    append(root, "on", make_bool(true));
    append(root, "nothing", Node{});
    Node list = make_sequence();
    list.items.push_back(make_mapping());
    list.items.push_back(make_sequence());
    append(root, "list", std::move(list));
    EXPECT_EQ(to_json(root),
              "{\n  \"name\": \"a \\\"b\\\" \\\\ \\n\\t\\u0001 c\",\n  \"count\": 3,\n"
              "  \"share\": 0.25,\n  \"whole\": 7,\n  \"on\": true,\n  \"nothing\": null,\n"
              "  \"list\": [\n    {},\n    []\n  ]\n}");
    const auto read = parse_yaml(to_json(root));
    ASSERT_TRUE(read.errors.empty()) << read.errors[0].message;
    EXPECT_EQ(read.documents[0].find("name")->scalar, root.find("name")->scalar);
    EXPECT_EQ(read.documents[0].find("share")->kind, Node::Kind::kFloat);
}

TEST(Json, HasNoWordForInfinity) {
    EXPECT_EQ(to_json(make_number(std::numeric_limits<double>::infinity())), "null");
    EXPECT_EQ(to_json(make_number(-0.00001)), "0");
}

}  // namespace
}  // namespace aliquot::document
