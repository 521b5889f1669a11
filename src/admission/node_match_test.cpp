// SPDX-License-Identifier: Apache-2.0
#include "admission/node_match.h"

#include <gtest/gtest.h>

namespace aliquot::admission {
namespace {

using Operator = Requirement::Operator;

TEST(NodeMatch, EachOperatorIsAsTheSchedulers) {
    const Labels labels{{"zone", "a"}, {"memory", "15356"}};
    const auto holds_for = [&](const char* key, Operator operation,
                               std::vector<std::string> values) {
        return holds({.key = key, .operation = operation, .values = std::move(values)}, labels);
    };
    EXPECT_TRUE(holds_for("zone", Operator::kIn, {"b", "a"}));
    EXPECT_FALSE(holds_for("none", Operator::kIn, {"a"}));
    EXPECT_FALSE(holds_for("zone", Operator::kNotIn, {"a"}));
    EXPECT_TRUE(holds_for("none", Operator::kNotIn, {"a"}));
    EXPECT_TRUE(holds_for("zone", Operator::kExists, {}));
    EXPECT_TRUE(holds_for("none", Operator::kDoesNotExist, {}));
    EXPECT_TRUE(holds_for("memory", Operator::kGt, {"15355"}));
    EXPECT_FALSE(holds_for("memory", Operator::kGt, {"15356"}));
    EXPECT_TRUE(holds_for("memory", Operator::kLt, {"15357"}));
    EXPECT_FALSE(holds_for("zone", Operator::kGt, {"1"}));
    EXPECT_FALSE(holds_for("zone", Operator::kOther, {"a"}));
    EXPECT_EQ(operator_of(to_text(Operator::kDoesNotExist)), Operator::kDoesNotExist);
    EXPECT_EQ(operator_of("Near"), Operator::kOther);
}

TEST(NodeMatch, OneTermMustHoldAndAnEmptyOneNeverDoes) {
    GpuNode node;
    node.name = "gpu-1";
    node.labels = {{"zone", "a"}};
    NodeChoice where;
    EXPECT_TRUE(where.allows(node));
    where.has_terms = true;
    EXPECT_FALSE(where.allows(node));
    where.terms.emplace_back();
    EXPECT_FALSE(where.allows(node));
    where.terms.push_back(
        {.labels = {}, .fields = {{.key = "metadata.name", .values = {"gpu-1"}}}});
    EXPECT_TRUE(where.allows(node));
    where.selector = {{"zone", "b"}};
    EXPECT_FALSE(where.allows(node));
}

}  // namespace
}  // namespace aliquot::admission
