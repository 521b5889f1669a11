// SPDX-License-Identifier: Apache-2.0
#include "mig/wish.h"

#include <gtest/gtest.h>

namespace aliquot::mig {
namespace {

const Geometry& a100() {
    static const Geometry kGeometry = *geometry_of(*catalog::find_gpu_model("a100-40"));
    return kGeometry;
}

std::vector<std::string> names(const Need& need) {
    std::vector<std::string> names;
    for (const unsigned p : need.choices) names.push_back(a100().profiles[p].name);
    return names;
}

TEST(Wish, ReadsProfilesSlicesAndMemory) {
    const auto wish = parse_wish("3g.20gb, 1g.5gb*4,slices=2*2,memory=10Gi,1g.5gb.me");
    ASSERT_TRUE(wish);
    ASSERT_EQ(wish->size(), 5U);
    EXPECT_EQ((*wish)[1].count, 4U);
    EXPECT_EQ((*wish)[2].slices, 2U);
    EXPECT_EQ((*wish)[3].memory_bytes, std::uint64_t{10} << 30U);
    EXPECT_EQ(to_text(*wish), "3g.20gb,1g.5gb*4,slices=2*2,memory=10Gi,1g.5gb+me");
    EXPECT_EQ(parse_wish(to_text(*wish)).ok(), true);
    EXPECT_TRUE(parse_wish("none")->empty());
    EXPECT_EQ(to_text({}), "none");
    const auto both = parse_wish("slices=2 memory=10Gi*2");
    ASSERT_TRUE(both);
    EXPECT_EQ(to_text(*both), "slices=2 memory=10Gi*2");
}

TEST(Wish, IsTheSameWhenItIsWrittenAndRead) {
    for (const char* const text :
         {"memory=9G,1c.3g.20gb*4", "memory=1", "memory=10Gi", "memory=1e9*3", "memory=3.5Gi",
          "slices=2 memory=12345678901*2"}) {
        const auto wish = parse_wish(text);
        ASSERT_TRUE(wish) << text;
        const auto again = parse_wish(to_text(*wish));
        ASSERT_TRUE(again) << to_text(*wish);
        EXPECT_EQ(*again, *wish) << text << " -> " << to_text(*wish);
    }
}

TEST(Wish, RefusesWhatIsNotOne) {
    for (const auto bad : {"", "3g", "3g.20gb*", "3g.20gb*0", "3g.20gb*65", "1g.5gb,,", "slices=0",
                           "slices=x", "memory=", "memory=0", "memory=-1", "memory",
                           "slices=", "3g.20gb*60,1g.5gb*60", "slices=2 slices=3", "4c.3g.20gb"}) {
        const auto wish = parse_wish(bad);
        ASSERT_FALSE(wish) << bad;
        EXPECT_EQ(wish.error().code, ErrorCode::kInvalidInput) << bad;
    }
}

TEST(Wish, BySlicesOrMemoryMeansEveryProfileThatDoes) {
    const auto needs = needs_of(a100(), *parse_wish("slices=1*2,memory=10Gi,slices=1"));
    ASSERT_TRUE(needs);
    ASSERT_EQ(needs->size(), 2U);
    EXPECT_EQ(names((*needs)[0]), (std::vector<std::string>{"1g.5gb", "1g.10gb"}));
    EXPECT_EQ((*needs)[0].count, 3U);
    // A 1g.10gb has 9.62 GiB: less than 10Gi.
    EXPECT_EQ(names((*needs)[1]), (std::vector<std::string>{"3g.20gb", "4g.20gb", "7g.40gb"}));
}

TEST(Wish, PutsPartsIntoAsFewInstancesAsPossible) {
    const auto needs = needs_of(a100(), *parse_wish("1c.3g.20gb*4,2c.3g.20gb"));
    ASSERT_TRUE(needs);
    ASSERT_EQ(needs->size(), 2U);
    EXPECT_EQ((*needs)[0].compute, (std::vector<unsigned>{2, 1}));
    EXPECT_EQ((*needs)[1].compute, (std::vector<unsigned>{1, 1, 1}));
    EXPECT_FALSE(needs_of(a100(), *parse_wish("3c.4g.20gb")));
}

TEST(Wish, NamesTheProfilesThatThereAre) {
    const auto needs = needs_of(a100(), *parse_wish("3g.40gb"));
    ASSERT_FALSE(needs);
    EXPECT_EQ(needs.error().message,
              "this GPU has no MIG profile 3g.40gb; it has 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, "
              "3g.20gb, 4g.20gb, 7g.40gb");
    EXPECT_EQ(to_text(with_known_profiles(a100(), *parse_wish("3g.40gb*2,1g.5gb,1g.10gb+me"))),
              "3g.20gb*2,1g.5gb,1g.5gb+me");
    EXPECT_EQ(to_text(with_known_profiles(a100(), *parse_wish("memory=60Gi"))), "7g.40gb");
}

}  // namespace
}  // namespace aliquot::mig
