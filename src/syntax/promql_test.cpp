// SPDX-License-Identifier: Apache-2.0
#include "syntax/promql.h"

#include <gtest/gtest.h>

namespace aliquot::syntax {
namespace {

using Strings = std::vector<std::string>;

std::vector<Expression::Selector> read(std::string_view text) {
    return read_selectors(text, Mark{1, 1});
}

TEST(PromqlTest, AMetricHasItsMatchersAndItsRange) {
    const auto selectors = read(R"(DCGM_FI_DEV_GPU_UTIL{gpu="0", pod=~"a.*|b"}[5m])");
    ASSERT_EQ(selectors.size(), 1U);
    EXPECT_EQ(selectors[0].metric, "DCGM_FI_DEV_GPU_UTIL");
    EXPECT_EQ(selectors[0].range, "5m");
    ASSERT_EQ(selectors[0].matchers.size(), 2U);
    EXPECT_EQ(selectors[0].matchers[1].label, "pod");
    EXPECT_EQ(selectors[0].matchers[1].op, "=~");
    EXPECT_EQ(selectors[0].matchers[1].value, "a.*|b");
}

TEST(PromqlTest, FunctionsAreThoseAroundItTheInnermostFirst) {
    const auto selectors = read("sum by (node, gpu) (rate(energy[5m])) / count(other)");
    ASSERT_EQ(selectors.size(), 2U);
    EXPECT_EQ(selectors[0].functions, (Strings{"rate", "sum"}));
    EXPECT_EQ(selectors[0].grouping, (Strings{"node", "gpu"}));
    EXPECT_EQ(selectors[1].functions, (Strings{"count"}));
    EXPECT_TRUE(selectors[1].grouping.empty());
}

TEST(PromqlTest, GroupingMayStandBehind) {
    const auto selectors = read("max(temperature) by (hostname) > 80");
    ASSERT_EQ(selectors.size(), 1U);
    EXPECT_EQ(selectors[0].grouping, (Strings{"hostname"}));
}

TEST(PromqlTest, WordsOfTheLanguageAreNoMetrics) {
    const auto selectors =
        read("a * on (pod) group_left (node) b and c unless d offset 5m or vector(1) > bool 0");
    Strings names;
    for (const auto& selector : selectors) {
        names.push_back(selector.metric);
    }
    EXPECT_EQ(names, (Strings{"a", "b", "c", "d"}));
}

TEST(PromqlTest, ANameMayBeAMatcher) {
    const auto selectors = read(R"({__name__="up", job="x"})");
    ASSERT_EQ(selectors.size(), 1U);
    EXPECT_EQ(selectors[0].metric, "up");
}

TEST(PromqlTest, VariablesOfADashboardAreNoMetrics) {
    const auto selectors =
        read(R"(avg(DCGM_FI_DEV_FB_USED{instance=~"$instance"}[$__rate_interval]) > $limit)");
    ASSERT_EQ(selectors.size(), 1U);
    EXPECT_EQ(selectors[0].metric, "DCGM_FI_DEV_FB_USED");
}

TEST(PromqlTest, AnyTextIsAccepted) {
    for (const std::string_view text :
         {"",        "(((((", ")))",        "{",        "a{", "a{b", "a{b=",
          "a{b=\"",  "a[",    "sum by",     "sum by (", "\"", "'\\", "\xFF\xFE",
          "a{}{}{}", "5m",    "rate(a[5m]", "#",        "$",  "${",  "[["}) {
        EXPECT_LT(read(text).size(), 10U) << text;
    }
}

}  // namespace
}  // namespace aliquot::syntax
