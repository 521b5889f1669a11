// SPDX-License-Identifier: Apache-2.0
#include "mig/well_known.h"

#include <gtest/gtest.h>

#include "catalog/mig_profiles.h"
#include "mig/plan.h"

namespace aliquot::mig {
namespace {

Geometry of(std::string_view model) { return *geometry_of(*catalog::find_gpu_model(model)); }

std::string spec_of(std::string_view name, std::string_view model) {
    const auto known = well_known(name, of(model));
    return known ? to_text(known->spec) : "?";
}

TEST(WellKnownConfigs, AreThoseOfMigParted) {
    EXPECT_FALSE(well_known("all-disabled", of("a100-40"))->enabled);
    EXPECT_TRUE(well_known("all-enabled", of("a100-40"))->spec.empty());
    EXPECT_EQ(spec_of("all-1g.5gb", "a100-40"), "1g.5gb*7");
    EXPECT_EQ(spec_of("all-3g.20gb", "a100-40"), "3g.20gb*2");
    EXPECT_EQ(spec_of("all-7g.40gb", "a100-40"), "7g.40gb");
    EXPECT_EQ(spec_of("all-balanced", "a100-40"), "1g.5gb*2,2g.10gb,3g.20gb");
    EXPECT_EQ(spec_of("all-balanced", "a100-80"), "1g.10gb*2,2g.20gb,3g.40gb");
    EXPECT_EQ(spec_of("all-balanced", "h100-80"), "1g.10gb*2,2g.20gb,3g.40gb");
    EXPECT_EQ(spec_of("all-balanced", "a30"), "1g.6gb*2,2g.12gb");
    EXPECT_EQ(spec_of("all-1g.5gb.me", "a100-40"), "1g.5gb+me");
    EXPECT_FALSE(well_known("all-9g.90gb", of("a100-40")));
    EXPECT_FALSE(well_known("mine", of("a100-40")));
}

TEST(WellKnownConfigs, CanAllBeHad) {
    for (const char* const model : {"a100-40", "a100-80", "a30", "h100-80", "h200", "b200"}) {
        const Geometry geometry = of(model);
        std::string names = well_known_names(geometry);
        while (!names.empty()) {
            const std::size_t comma = names.find(", ");
            const std::string name = names.substr(0, comma);
            names = comma == std::string::npos ? "" : names.substr(comma + 2);
            const auto known = well_known(name, geometry);
            ASSERT_TRUE(known) << name;
            EXPECT_TRUE(std::holds_alternative<Plan>(plan(geometry, {}, known->spec)))
                << model << ' ' << name;
        }
    }
}

}  // namespace
}  // namespace aliquot::mig
