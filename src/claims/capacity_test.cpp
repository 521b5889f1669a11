// SPDX-License-Identifier: Apache-2.0
#include "claims/capacity.h"

#include <gtest/gtest.h>

namespace aliquot::claims {
namespace {

Quantity amount(const char* text) { return *Quantity::parse(text); }

std::string taken_text(const Capacity& capacity, const char* requested) {
    const auto wanted = requested == nullptr ? std::nullopt : Quantity::parse(requested);
    const auto took = taken(capacity, wanted ? &*wanted : nullptr);
    return took ? took->canonical() : took.error().message;
}

TEST(Taken, OfARangeIsRaisedToTheNextStep) {
    const Capacity memory{amount("81408Mi"), RequestPolicy{.taken_by_default = amount("81408Mi"),
                                                           .min = amount("256Mi"),
                                                           .max = amount("81408Mi"),
                                                           .step = amount("256Mi")}};
    EXPECT_EQ(taken_text(memory, nullptr), "81408Mi");
    EXPECT_EQ(taken_text(memory, "3Gi"), "3Gi");
    EXPECT_EQ(taken_text(memory, "1"), "256Mi");
    EXPECT_EQ(taken_text(memory, "257Mi"), "512Mi");
    EXPECT_EQ(taken_text(memory, "1G"), "1073741824");
    EXPECT_EQ(taken_text(memory, "80Gi"), "requested 80Gi, 81408Mi at most");
}

TEST(Taken, OfPercentCountsInWholeOnes) {
    const Capacity compute{amount("100"), RequestPolicy{.taken_by_default = amount("100"),
                                                        .min = amount("0"),
                                                        .max = amount("100"),
                                                        .step = amount("1")}};
    EXPECT_EQ(taken_text(compute, "25"), "25");
    EXPECT_EQ(taken_text(compute, "0"), "0");
    EXPECT_EQ(taken_text(compute, "101"), "requested 101, 100 at most");
}

TEST(Taken, OfValidValuesIsTheNextOfThem) {
    const Capacity bandwidth{amount("10G"),
                             RequestPolicy{.taken_by_default = amount("1G"),
                                           .values = {amount("1G"), amount("2G"), amount("5G")}}};
    EXPECT_EQ(taken_text(bandwidth, nullptr), "1G");
    EXPECT_EQ(taken_text(bandwidth, "1500M"), "2G");
    EXPECT_EQ(taken_text(bandwidth, "6G"), "requested 6G, 5G at most");
}

TEST(Taken, WithoutAPolicyAllIsTakenUnlessLessIsRequested) {
    const Capacity plain{amount("8Gi"), std::nullopt};
    EXPECT_EQ(taken_text(plain, nullptr), "8Gi");
    EXPECT_EQ(taken_text(plain, "3Gi"), "3Gi");
    EXPECT_EQ(taken_text(plain, "9Gi"), "requested 9Gi, 8Gi at most");
}

}  // namespace
}  // namespace aliquot::claims
