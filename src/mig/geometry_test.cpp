// SPDX-License-Identifier: Apache-2.0
#include "mig/geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "catalog/mig_profiles.h"

namespace aliquot::mig {
namespace {

Geometry of(std::string_view model) {
    auto geometry = geometry_of(*catalog::find_gpu_model(model));
    EXPECT_TRUE(geometry.ok());
    return *geometry;
}

struct Counts {
    std::size_t layouts = 0;
    std::size_t maximal = 0;
    std::size_t maximal_multisets = 0;
    std::size_t multisets = 0;
    bool operator==(const Counts&) const = default;
};
void PrintTo(const Counts& counts, std::ostream* out) {
    *out << counts.layouts << '/' << counts.maximal << '/' << counts.maximal_multisets << '/'
         << counts.multisets;
}

Counts count(const Geometry& geometry) {
    const auto all = layouts(geometry, Occupancy(geometry));
    std::set<std::vector<unsigned>> kinds;
    std::set<std::vector<unsigned>> maximal;
    Counts counts{.layouts = all.size()};
    for (const Layout& layout : all) {
        std::vector<unsigned> kind;
        for (const Slot slot : layout) kind.push_back(slot.profile);
        std::ranges::sort(kind);
        kinds.insert(kind);
        if (!is_maximal(geometry, layout)) continue;
        ++counts.maximal;
        maximal.insert(kind);
    }
    counts.multisets = kinds.size();
    counts.maximal_multisets = maximal.size();
    return counts;
}

TEST(Geometry, OfAnA100HasAsManyLayoutsAsNvidiaDocuments) {
    const Geometry plain =
        only(of("a100-40"), {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"});
    EXPECT_EQ(count(plain), (Counts{298, 19, 14, 38}));
    const Geometry with_double_memory =
        only(of("a100-40"), {"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"});
    const Counts more = count(with_double_memory);
    EXPECT_EQ(more.layouts, 723U);
    EXPECT_EQ(more.maximal, 78U);
    EXPECT_EQ(more.maximal_multisets, 38U);
}

TEST(Geometry, IsTheSameOnEveryGpuOfSevenSlices) {
    for (const auto model : {"a100-80", "h100", "h100-nvl", "h100-96", "h200", "b200"}) {
        Geometry geometry = of(model);
        EXPECT_EQ(geometry.slices, 7U) << model;
        EXPECT_EQ(geometry.memory_slices, 8U) << model;
        std::erase_if(geometry.profiles, [](const Profile& p) { return !p.plain; });
        EXPECT_EQ(count(geometry).layouts, 723U) << model;
    }
}

TEST(Geometry, OfAnA30) {
    const Counts counts = count(only(of("a30"), {"1g.6gb", "2g.12gb", "4g.24gb"}));
    EXPECT_EQ(counts, (Counts{26, 5, 4, counts.multisets}));
    EXPECT_EQ(of("a30").slices, 4U);
}

TEST(Geometry, TakesAMediaProfileOnce) {
    const Geometry geometry = of("a100-40");
    const unsigned media = *geometry.find("1g.5gb+me");
    EXPECT_EQ(geometry.find("mig-1g.5gb.me"), media);
    EXPECT_FALSE(geometry.profiles[media].plain);
    Occupancy taken(geometry);
    EXPECT_EQ(further(geometry, taken, media), 1U);
    taken.put(geometry, {media, 0});
    EXPECT_EQ(further(geometry, taken, media), 0U);
    EXPECT_EQ(further(geometry, taken, *geometry.find("1g.5gb")), 6U);
}

TEST(Geometry, LeavesMoreRoomUnderAThreeSliceInstanceAtFour) {
    const Geometry geometry = of("a100-40");
    const unsigned three = *geometry.find("3g.20gb");
    Occupancy low(geometry);
    low.put(geometry, {three, 0});
    Occupancy high(geometry);
    high.put(geometry, {three, 4});
    EXPECT_EQ(room(geometry, high), 20U);
    EXPECT_EQ(room(geometry, low), 13U);
}

TEST(Geometry, ComesFromTheDriverAsWell) {
    const Geometry known = of("h100");
    gpu::Partitions told{.enabled = true};
    for (const Profile& profile : known.profiles) {
        gpu::MigProfile one{.id = *profile.id,
                            .name = profile.name,
                            .slices = profile.slices,
                            .most = profile.most,
                            .memory_mib = profile.memory_mib};
        for (const unsigned start : profile.starts) one.placements.push_back({start, profile.size});
        told.profiles.push_back(std::move(one));
    }
    const auto geometry = geometry_of(told);
    ASSERT_TRUE(geometry);
    EXPECT_EQ(count(*geometry), count(known));
    EXPECT_EQ(geometry->find("3g.40gb"), known.find("3g.40gb"));
    EXPECT_FALSE(geometry_of(gpu::Partitions{}));
}

TEST(Geometry, SaysWhyThereIsNone) {
    const auto none = geometry_of(*catalog::find_gpu_model("a2"));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(none.error().message.find("has no MIG"), std::string::npos);
    EXPECT_FALSE(geometry_of(*catalog::find_gpu_model("rtx-pro-5000")));
}

}  // namespace
}  // namespace aliquot::mig
