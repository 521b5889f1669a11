// SPDX-License-Identifier: Apache-2.0
#include "k8s/label_selector.h"

#include <gtest/gtest.h>

#include "document/yaml.h"

namespace aliquot::k8s {
namespace {

bool matches(const std::string& text, const Labels& labels) {
    const auto selector = parse_label_selector(text);
    EXPECT_TRUE(selector) << text;
    return selector && k8s::matches(*selector, labels);
}

TEST(LabelSelector, SelectsByAllItsRequirements) {
    const Labels labels{{"app", "vision-svc"}, {"example.com/tier", "gold"}, {"empty", ""}};
    EXPECT_TRUE(matches("", labels));
    EXPECT_TRUE(matches("app=vision-svc", labels));
    EXPECT_TRUE(matches(" app == vision-svc , example.com/tier", labels));
    EXPECT_TRUE(matches("app in (a, vision-svc),example.com/tier notin (silver)", labels));
    EXPECT_TRUE(matches("!canary,app!=other", labels));
    EXPECT_TRUE(matches("missing!=x,missing notin (x)", labels));
    EXPECT_TRUE(matches("empty=", labels));
    EXPECT_TRUE(matches("empty in ()", labels));
    EXPECT_FALSE(matches("app=vision", labels));
    EXPECT_FALSE(matches("app in (a,b)", labels));
    EXPECT_FALSE(matches("!app", labels));
    EXPECT_FALSE(matches("app=vision-svc,canary", labels));
}

TEST(LabelSelector, AKeyMayBeginLikeAnOperator) {
    EXPECT_TRUE(matches("inner=a,in in (b)", {{"inner", "a"}, {"in", "b"}}));
}

TEST(LabelSelector, WhatIsNoSelectorIsRefused) {
    for (const char* bad :
         {"=", "a=b=c", "a in b", "a in (b", ",a", "a,", "a b", "x=a||y=b", "x==a==b", "!x=a",
          "x<a", "-a=b", "a=b c", "a=-", "x>y", "!", "a=\"b\""}) {
        EXPECT_FALSE(parse_label_selector(bad)) << bad;
    }
    EXPECT_FALSE(parse_label_selector(std::string(9000, 'a')));
}

// The facts of TestSelectorParse and TestSelectorMatches of k8s.io/apimachinery.
TEST(LabelSelector, ReadsWhatKubernetesPublishesAsItsCases) {
    for (const char* text :
         {"x=a,y=b,z=c", "", "x!=a,y=b", "x=", "x= ", "x=,z= ", "!x", "x>1", "x>1,z<5"}) {
        EXPECT_TRUE(parse_label_selector(text)) << text;
    }
    EXPECT_TRUE(matches("x!=y,z!=w", {{"x", "z"}, {"z", "a"}}));
    EXPECT_TRUE(matches("notin=in", {{"notin", "in"}}));
    EXPECT_TRUE(matches("!x", {{"y", "z"}}));
    EXPECT_TRUE(matches("x>1", {{"x", "2"}}));
    EXPECT_TRUE(matches("x<1", {{"x", "0"}}));
    EXPECT_FALSE(matches("x=z", {}));
    EXPECT_FALSE(matches("x=y,z=w", {{"x", "w"}, {"z", "w"}}));
    EXPECT_FALSE(matches("!x", {{"x", "z"}}));
    EXPECT_FALSE(matches("x>1", {{"x", "0"}}));
    EXPECT_FALSE(matches("x<1", {{"x", "2"}}));
}

TEST(LabelSelector, HasAStringForm) {
    for (const char* text : {"x=a,y in (b,c),z", "!x,y notin (a)", "x>1,z<5", "x=", ""}) {
        EXPECT_EQ(to_text(*parse_label_selector(text)), text);
    }
}

TEST(LabelSelector, IsReadFromItsObject) {
    const auto read = document::parse_yaml(
        "matchLabels: {app: web}\nmatchExpressions:\n- {key: tier, operator: Exists}\n"
        "- {key: zone, operator: NotIn, values: [a, b]}\n");
    ASSERT_EQ(read.documents.size(), 1U);
    const document::Value* const object = read.documents.data();
    EXPECT_EQ(to_text(read_label_selector(object)), "app=web,tier,zone notin (a,b)");
    EXPECT_TRUE(read_label_selector(nullptr).empty());
}

TEST(Requirement, EachOperatorIsAsTheSchedulers) {
    using Operator = Requirement::Operator;
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
    EXPECT_FALSE(holds_for("none", Operator::kExists, {}));
    EXPECT_TRUE(holds_for("none", Operator::kDoesNotExist, {}));
    EXPECT_FALSE(holds_for("zone", Operator::kDoesNotExist, {}));
    EXPECT_TRUE(holds_for("memory", Operator::kGt, {"15355"}));
    EXPECT_FALSE(holds_for("memory", Operator::kGt, {"15356"}));
    EXPECT_FALSE(holds_for("memory", Operator::kGt, {"1", "2"}));
    EXPECT_TRUE(holds_for("memory", Operator::kLt, {"15357"}));
    EXPECT_FALSE(holds_for("memory", Operator::kLt, {"x"}));
    EXPECT_FALSE(holds_for("zone", Operator::kGt, {"1"}));
    EXPECT_FALSE(holds_for("zone", Operator::kOther, {"a"}));
    EXPECT_EQ(operator_of(to_text(Operator::kDoesNotExist)), Operator::kDoesNotExist);
    EXPECT_EQ(operator_of("Near"), Operator::kOther);
}

}  // namespace
}  // namespace aliquot::k8s
