// SPDX-License-Identifier: Apache-2.0
#include "scaling/selector.h"

#include <gtest/gtest.h>

namespace aliquot::scaling {
namespace {

bool matches(const std::string& text, const Labels& labels) {
    const auto selector = Selector::parse(text);
    EXPECT_TRUE(selector) << text;
    return selector && selector->matches(labels);
}

TEST(Selector, SelectsByAllItsRequirements) {
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

TEST(Selector, AKeyMayBeginLikeAnOperator) {
    EXPECT_TRUE(matches("inner=a,in in (b)", {{"inner", "a"}, {"in", "b"}}));
}

TEST(Selector, WhatIsNoSelectorIsRefused) {
    for (const char* bad :
         {"=", "a=b=c", "a in b", "a in (b", ",a", "a,", "a b", "a>1", "!", "a=\"b\""}) {
        EXPECT_FALSE(Selector::parse(bad)) << bad;
    }
    EXPECT_FALSE(Selector::parse(std::string(9000, 'a')));
}

}  // namespace
}  // namespace aliquot::scaling
