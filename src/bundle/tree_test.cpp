// SPDX-License-Identifier: Apache-2.0
#include "bundle/tree.h"

#include <gtest/gtest.h>

#include "bundle/bundle.h"
#include "bundle/test_tree.h"

namespace aliquot::bundle {
namespace {

TEST(Tree, SurvivesTheWayThroughJson) {
    const auto read = facts_from_json(facts_to_json(small_tree()));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->entries(), small_tree().entries());
}

TEST(Tree, OfAnotherNodeIsNotJudgedByThisOnes) {
    Tree tree;
    tree.add_text("host/a/proc/modules", "nouveau");
    EXPECT_TRUE(tree.of_host("b").paths("/proc/*").empty());
    EXPECT_TRUE(tree.of_host("").has("/proc/modules"));
}

TEST(Tree, RefusesFactsThatHoldNothingOrAreOfAnotherSchema) {
    EXPECT_FALSE(facts_from_json(R"({"schemaVersion":"1","entries":[]})"));
    EXPECT_FALSE(facts_from_json(R"({"schemaVersion":"9","entries":[{"path":"/a"}]})"));
    EXPECT_FALSE(facts_from_json(R"({"entries":[{"path":1}]})"));
}

TEST(Tree, AHostWithoutANameMayBeAnyNode) {
    Tree tree;
    tree.add_text("host/this-host/proc/modules", "nouveau 1 1 - Live 0x0\n");
    EXPECT_TRUE(tree.of_host("gpu-1").has("/proc/modules"));
    tree.add_text("host/gpu-2/proc/modules", "");
    EXPECT_FALSE(tree.of_host("gpu-1").has("/proc/modules"));
}

}  // namespace
}  // namespace aliquot::bundle
