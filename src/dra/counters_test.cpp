// SPDX-License-Identifier: Apache-2.0
#include "dra/counters.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/number.h"
#include "catalog/gpu_models.h"
#include "document/path.h"

namespace aliquot::dra {
namespace {

using Amounts = std::map<std::string, unsigned>;

Amounts amounts_of(const document::Value& node) {
    Amounts amounts;
    for (const auto& [name, counter] : document::entries_at(node, {"counters"})) {
        amounts[name.scalar] =
            parse_number<unsigned>(document::text_at(counter, "value")).value_or(0);
    }
    return amounts;
}

Amounts taken_by(const mig::Geometry& geometry, mig::Slot slot) {
    return amounts_of(consumed_counters("set", geometry, slot).items.at(0));
}

bool fits(const Amounts& all, const Amounts& used, const Amounts& more) {
    for (const auto& [name, amount] : more) {
        const auto before = used.find(name);
        const auto most = all.find(name);
        if (most == all.end()) return false;
        if ((before == used.end() ? 0 : before->second) + amount > most->second) return false;
    }
    return true;
}

// kube-scheduler knows counters and nothing of MIG.
TEST(DraCounters, LetTogetherWhatFitsTogetherAndNothingElse) {
    std::mt19937 random(3);
    for (const char* const model : {"a100-40", "a100-80", "h100-80", "a30"}) {
        SCOPED_TRACE(model);
        const auto* const known = catalog::find_gpu_model(model);
        ASSERT_NE(known, nullptr);
        const mig::Geometry geometry = *mig::geometry_of(*known);
        const auto set = counter_set("set", geometry);
        ASSERT_TRUE(set);
        const Amounts all = amounts_of(*set);
        EXPECT_LE(all.size(), kMostCounters);
        for (unsigned round = 0; round < 500; ++round) {
            mig::Occupancy taken(geometry);
            Amounts used;
            for (unsigned i = 0; i < 20; ++i) {
                const auto p = static_cast<unsigned>(random() % geometry.profiles.size());
                const auto& starts = geometry.profiles[p].starts;
                const mig::Slot slot{p, starts[random() % starts.size()]};
                const Amounts more = taken_by(geometry, slot);
                ASSERT_EQ(fits(all, used, more), taken.fits(geometry, slot))
                    << geometry.profiles[p].name << '@' << slot.start;
                if (!taken.fits(geometry, slot)) continue;
                taken.put(geometry, slot);
                for (const auto& [name, amount] : more) used[name] += amount;
            }
            const Amounts whole =
                amounts_of(consumed_counters("set", geometry, std::nullopt).items.at(0));
            EXPECT_EQ(whole, all);
            EXPECT_EQ(fits(all, used, whole), used.empty());
        }
    }
}

TEST(DraCounters, HaveNamesOfTheirOwn) {
    EXPECT_EQ(profile_label("1g.10gb+me"), "1g-10gb-me");
    EXPECT_EQ(profile_label("1g.24gb-me"), "1g-24gb-no-me");
    const mig::Geometry geometry = *mig::geometry_of(*catalog::find_gpu_model("a100-40"));
    const auto me = *geometry.find("1g.5gb+me");
    EXPECT_EQ(taken_by(geometry, {me, 3}),
              (Amounts{{"memory-slice-3", 1}, {"compute-slices", 1}, {"most-1g-5gb-me", 1}}));
    mig::Geometry wide = geometry;
    wide.memory_slices = 32;
    EXPECT_FALSE(counter_set("set", wide)) << "an API server would refuse it";
}

}  // namespace
}  // namespace aliquot::dra
