// SPDX-License-Identifier: Apache-2.0
#include "mig/places.h"

#include <gtest/gtest.h>

namespace aliquot::mig {
namespace {

Geometry a100() { return *geometry_of(*catalog::find_gpu_model("a100-40")); }

std::string text(const std::vector<Instance>& instances, const Geometry& geometry) {
    std::string all;
    for (const Instance& one : instances) {
        all += (all.empty() ? "" : ",") + to_text(one, geometry);
    }
    return all;
}

std::string cut(std::string_view there, std::string_view wanted) {
    const Geometry geometry = a100();
    const auto made =
        cut_with(geometry, *parse_instances(there, geometry), *parse_instances(wanted, geometry));
    return made ? text(*made, geometry) : made.error().message;
}

TEST(MigPlaces, AreInTheOrderInWhichTheyShallBeTaken) {
    const Geometry geometry = a100();
    std::string all;
    for (const Slot slot : places_of(geometry)) {
        all += geometry.profiles[slot.profile].name + '@' + std::to_string(slot.start) + ' ';
    }
    EXPECT_NE(all.find("3g.20gb@4 3g.20gb@0 4g.20gb@0 7g.40gb@0"), std::string::npos) << all;
    EXPECT_EQ(places_of(geometry).size(), 25U);
}

TEST(MigPlaces, LeaveWhatIsBusyAndWhatIsNotInTheWay) {
    EXPECT_EQ(cut("none", "3g.20gb@4"), "3g.20gb@4");
    EXPECT_EQ(cut("1g.5gb@0,2g.10gb@2:busy", "3g.20gb@4"), "1g.5gb@0,2g.10gb@2 (busy),3g.20gb@4");
    EXPECT_EQ(cut("1g.5gb@0,1g.5gb@5,1g.5gb@6:busy", "2g.10gb@4"),
              "1g.5gb@0,2g.10gb@4,1g.5gb@6 (busy)");
    EXPECT_EQ(cut("3g.20gb@4", "3g.20gb@4"), "3g.20gb@4") << "idle, and at the right place";
    EXPECT_EQ(cut("7g.40gb@0", "1g.5gb@0"), "1g.5gb@0");
}

TEST(MigPlaces, AreRefusedWhereSomethingBusyIs) {
    EXPECT_EQ(cut("1g.5gb@5:busy", "3g.20gb@4"), "3g.20gb@4 does not fit beside 1g.5gb@5 (busy)");
    EXPECT_EQ(cut("1g.5gb+me@0:busy", "1g.5gb+me@1"),
              "1g.5gb+me@1 does not fit beside 1g.5gb+me@0 (busy)");
    const Geometry geometry = a100();
    const auto both = cut_with(geometry, {},
                               {{.profile = "3g.20gb", .start = 4, .size = 4},
                                {.profile = "2g.10gb", .start = 4, .size = 2}});
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().message, "2g.10gb@4 does not fit beside what else is wanted");
    const auto unknown = cut_with(geometry, {}, {{.profile = "9g.80gb", .start = 0, .size = 8}});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().message, "9g.80gb@0: this GPU has no such profile or place");
}

}  // namespace
}  // namespace aliquot::mig
