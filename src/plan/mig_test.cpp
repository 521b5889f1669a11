// SPDX-License-Identifier: Apache-2.0
#include "plan/mig.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace aliquot::plan {
namespace {

using catalog::MigProfile;

std::vector<const MigProfile*> profiles(std::string_view gpu,
                                        std::initializer_list<std::string_view> names) {
    std::vector<const MigProfile*> found;
    const catalog::GpuModel* const model = catalog::find_gpu_model(gpu);
    for (const std::string_view name : names) {
        found.push_back(catalog::find_mig_profile(*model, name));
        EXPECT_NE(found.back(), nullptr) << name;
    }
    return found;
}

std::string multiset_of(const MigLayout& layout) {
    std::vector<std::string> names;
    for (const MigSlot& slot : layout) names.emplace_back(slot.profile->name);
    std::ranges::sort(names);
    std::string text;
    for (const std::string& name : names) text += name + ' ';
    return text;
}

struct Counts {
    std::size_t layouts = 0;
    std::size_t maximal = 0;
    std::size_t multisets = 0;
    std::size_t maximal_multisets = 0;
    bool operator==(const Counts&) const = default;
};

Counts count(const std::vector<const MigProfile*>& known) {
    const auto all = mig_layouts(known);
    std::set<std::string> kinds;
    std::set<std::string> maximal_kinds;
    Counts counts;
    counts.layouts = all.size();
    for (const MigLayout& layout : all) {
        kinds.insert(multiset_of(layout));
        if (!is_maximal(layout, known)) continue;
        ++counts.maximal;
        maximal_kinds.insert(multiset_of(layout));
    }
    counts.multisets = kinds.size();
    counts.maximal_multisets = maximal_kinds.size();
    return counts;
}

TEST(MigLayouts, OfAnA100AreAsManyAsTheGuideSays) {
    const Counts counts =
        count(profiles("a100-40", {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}));
    EXPECT_EQ(counts.layouts, 298U);
    EXPECT_EQ(counts.maximal, 19U);
    EXPECT_EQ(counts.maximal_multisets, 14U);
    EXPECT_EQ(counts.multisets, 38U);
}

TEST(MigLayouts, WithTheSmallProfileOfDoubleMemory) {
    const Counts counts = count(
        profiles("a100-40", {"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}));
    EXPECT_EQ(counts.layouts, 723U);
    EXPECT_EQ(counts.maximal, 78U);
    EXPECT_EQ(counts.maximal_multisets, 38U);
}

TEST(MigLayouts, OfAnA30) {
    const Counts counts = count(profiles("a30", {"1g.6gb", "2g.12gb", "4g.24gb"}));
    EXPECT_EQ(counts.layouts, 26U);
    EXPECT_EQ(counts.maximal, 5U);
    EXPECT_EQ(counts.maximal_multisets, 4U);
}

TEST(MigPlacement, TakesWhatFitsAndRefusesWhatDoesNot) {
    EXPECT_TRUE(place_mig(profiles("a100-80", {"3g.40gb", "4g.40gb"})));
    EXPECT_TRUE(place_mig(profiles("a100-80", {"3g.40gb", "3g.40gb"})));
    EXPECT_FALSE(place_mig(profiles("a100-80", {"4g.40gb", "4g.40gb"})));
    EXPECT_FALSE(place_mig(profiles("a100-80", {"3g.40gb", "3g.40gb", "1g.10gb"})));
    EXPECT_TRUE(place_mig(profiles("a100-80", {"1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb"})));
    EXPECT_TRUE(place_mig({}));
}

TEST(MigPlacement, PutsThreeSlicesWhereTheyLeaveRoom) {
    const auto layout = place_mig(profiles("a100-80", {"3g.40gb"}));
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->front().start, 4U);
}

TEST(MigPlacement, FallsBackToALargerProfileOnlyWhereItMust) {
    const catalog::GpuModel& model = *catalog::find_gpu_model("a100-80");
    const std::vector<MigNeed> five(5, mig_need(model, 15, 5));
    EXPECT_FALSE(place_needs(five));  // 1g.20gb and 2g.20gb both take two of eight memory slices
    const auto four = place_needs(std::span(five).first(4));
    ASSERT_TRUE(four);
    for (const MigSlot& slot : *four) EXPECT_EQ(slot.profile->name, "1g.20gb");
    EXPECT_EQ(mig_need(model, 15, 25).choices.front()->name, "2g.20gb");
    EXPECT_TRUE(mig_need(model, 90, 5).choices.empty());
    EXPECT_TRUE(mig_need(*catalog::find_gpu_model("a2"), 1, 5).choices.empty());
}

}  // namespace
}  // namespace aliquot::plan
