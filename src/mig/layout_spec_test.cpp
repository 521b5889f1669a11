// SPDX-License-Identifier: Apache-2.0
#include "mig/layout_spec.h"

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

TEST(LayoutSpec, ReadsProfilesSlicesAndMemory) {
    const auto spec = parse_layout_spec("3g.20gb, 1g.5gb*4,slices=2*2,memory=10Gi,1g.5gb.me");
    ASSERT_TRUE(spec);
    ASSERT_EQ(spec->size(), 5U);
    EXPECT_EQ((*spec)[1].count, 4U);
    EXPECT_EQ((*spec)[2].slices, 2U);
    EXPECT_EQ((*spec)[3].memory_bytes, std::uint64_t{10} << 30U);
    EXPECT_EQ(to_text(*spec), "3g.20gb,1g.5gb*4,slices=2*2,memory=10Gi,1g.5gb+me");
    EXPECT_EQ(parse_layout_spec(to_text(*spec)).ok(), true);
    EXPECT_TRUE(parse_layout_spec("none")->empty());
    EXPECT_EQ(to_text({}), "none");
    const auto both = parse_layout_spec("slices=2 memory=10Gi*2");
    ASSERT_TRUE(both);
    EXPECT_EQ(to_text(*both), "slices=2 memory=10Gi*2");
}

TEST(LayoutSpec, IsTheSameWhenItIsWrittenAndRead) {
    for (const char* const text :
         {"memory=9G,1c.3g.20gb*4", "memory=1", "memory=10Gi", "memory=1e9*3", "memory=3.5Gi",
          "slices=2 memory=12345678901*2"}) {
        const auto spec = parse_layout_spec(text);
        ASSERT_TRUE(spec) << text;
        const auto again = parse_layout_spec(to_text(*spec));
        ASSERT_TRUE(again) << to_text(*spec);
        EXPECT_EQ(*again, *spec) << text << " -> " << to_text(*spec);
    }
}

TEST(LayoutSpec, RefusesWhatIsNotOne) {
    for (const auto bad : {"", "3g", "3g.20gb*", "3g.20gb*0", "3g.20gb*65", "1g.5gb,,", "slices=0",
                           "slices=x", "memory=", "memory=0", "memory=-1", "memory",
                           "slices=", "3g.20gb*60,1g.5gb*60", "slices=2 slices=3", "4c.3g.20gb"}) {
        const auto spec = parse_layout_spec(bad);
        ASSERT_FALSE(spec) << bad;
        EXPECT_EQ(spec.error().code, ErrorCode::kInvalidInput) << bad;
    }
}

TEST(LayoutSpec, BySlicesOrMemoryMeansEveryProfileThatDoes) {
    const auto needs = needs_of(a100(), *parse_layout_spec("slices=1*2,memory=10Gi,slices=1"));
    ASSERT_TRUE(needs);
    ASSERT_EQ(needs->size(), 2U);
    EXPECT_EQ(names((*needs)[0]), (std::vector<std::string>{"1g.5gb", "1g.10gb"}));
    EXPECT_EQ((*needs)[0].count, 3U);
    // A 1g.10gb has 9.62 GiB: less than 10Gi.
    EXPECT_EQ(names((*needs)[1]), (std::vector<std::string>{"3g.20gb", "4g.20gb", "7g.40gb"}));
}

TEST(LayoutSpec, PutsPartsIntoAsFewInstancesAsPossible) {
    const auto needs = needs_of(a100(), *parse_layout_spec("1c.3g.20gb*4,2c.3g.20gb"));
    ASSERT_TRUE(needs);
    ASSERT_EQ(needs->size(), 2U);
    EXPECT_EQ((*needs)[0].compute, (std::vector<unsigned>{2, 1}));
    EXPECT_EQ((*needs)[1].compute, (std::vector<unsigned>{1, 1, 1}));
    EXPECT_FALSE(needs_of(a100(), *parse_layout_spec("3c.4g.20gb")));
}

TEST(LayoutSpec, NamesTheProfilesThatThereAre) {
    const auto needs = needs_of(a100(), *parse_layout_spec("3g.40gb"));
    ASSERT_FALSE(needs);
    EXPECT_EQ(needs.error().message,
              "this GPU has no MIG profile 3g.40gb; it has 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, "
              "3g.20gb, 4g.20gb, 7g.40gb");
    EXPECT_EQ(
        to_text(with_known_profiles(a100(), *parse_layout_spec("3g.40gb*2,1g.5gb,1g.10gb+me"))),
        "3g.20gb*2,1g.5gb,1g.5gb+me");
    EXPECT_EQ(to_text(with_known_profiles(a100(), *parse_layout_spec("memory=60Gi"))), "7g.40gb");
}

}  // namespace
}  // namespace aliquot::mig
