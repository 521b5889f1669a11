// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_word.h"

#include <gtest/gtest.h>

#include <array>

namespace aliquot {
namespace {

constexpr std::array<std::string_view, 4> kWords{"check", "config", "replicas", "up"};

TEST(NearestWord, FindsWhatWasMeant) {
    EXPECT_EQ(nearest_word("chekc", kWords), "check");
    EXPECT_EQ(nearest_word("Config", kWords), "config");
    EXPECT_EQ(nearest_word("replcias", kWords), "replicas");
    EXPECT_EQ(nearest_word("u", kWords), "up");
}

TEST(NearestWord, SaysNothingWhenNoneIsNear) {
    EXPECT_EQ(nearest_word("banana", kWords), "");
    EXPECT_EQ(nearest_word("", kWords), "");
    EXPECT_EQ(nearest_word(std::string(100, 'x'), kWords), "");
}

TEST(NearestWord, LettersAreComparedWhateverTheirCase) {
    EXPECT_TRUE(same_letters("MigStrategy", "migstrategy"));
    EXPECT_FALSE(same_letters("mig", "mi"));
}

}  // namespace
}  // namespace aliquot
