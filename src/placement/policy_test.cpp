// SPDX-License-Identifier: Apache-2.0
#include "placement/policy.h"

#include <gtest/gtest.h>

namespace aliquot::placement {
namespace {

TEST(Policy, WordsAndValuesGoBothWays) {
    EXPECT_EQ(policy_words().size(), 8U);
    for (const std::string_view word : policy_words()) {
        const auto policy = parse_policy(word);
        ASSERT_TRUE(policy.has_value()) << word;
        EXPECT_EQ(to_text(*policy), word);
    }
    EXPECT_EQ(parse_policy("best-fit"), Policy::kBestFit);
    EXPECT_EQ(to_text(Policy::kDotProduct), "dot-product");
    EXPECT_EQ(parse_policy("FGD"), std::nullopt);
    EXPECT_EQ(parse_policy(""), std::nullopt);
}

TEST(Policy, DefaultWeightsUseEveryTermThatTheTracesHave) {
    const Weights weights = default_weights();
    EXPECT_GT(weights.packing, 0);
    EXPECT_GT(weights.scarcity_most, 1);
    EXPECT_GE(weights.price, 0);
    EXPECT_GE(weights.power, 0);
}

}  // namespace
}  // namespace aliquot::placement
