// SPDX-License-Identifier: Apache-2.0
// The planner against a judge that knows nothing of it: a table, and all subsets of it that hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <random>

#include "mig/plan.h"

namespace aliquot::mig {
namespace {

struct Piece {
    const char* profile;
    unsigned slices;
    unsigned start;
    unsigned size;
};
constexpr std::array<Piece, 14> kPieces{{{"1g.5gb", 1, 0, 1},
                                         {"1g.5gb", 1, 1, 1},
                                         {"1g.5gb", 1, 2, 1},
                                         {"1g.5gb", 1, 3, 1},
                                         {"1g.5gb", 1, 4, 1},
                                         {"1g.5gb", 1, 5, 1},
                                         {"1g.5gb", 1, 6, 1},
                                         {"2g.10gb", 2, 0, 2},
                                         {"2g.10gb", 2, 2, 2},
                                         {"2g.10gb", 2, 4, 2},
                                         {"3g.20gb", 3, 0, 4},
                                         {"3g.20gb", 3, 4, 4},
                                         {"4g.20gb", 4, 0, 4},
                                         {"7g.40gb", 7, 0, 8}}};
using Set = std::uint32_t;  // one bit for each piece

bool has(Set set, std::size_t piece) { return ((set >> piece) & 1U) != 0; }

bool holds(Set set) {
    unsigned slices = 0;
    std::array<unsigned, 8> memory{};
    for (std::size_t i = 0; i < kPieces.size(); ++i) {
        if (!has(set, i)) continue;
        slices += kPieces[i].slices;
        for (unsigned s = 0; s < kPieces[i].size; ++s) ++memory[kPieces[i].start + s];
    }
    return slices <= 7 && std::ranges::all_of(memory, [](unsigned n) { return n <= 1; });
}

std::string kind_of(Set set) {
    std::map<std::string, unsigned> counts;
    for (std::size_t i = 0; i < kPieces.size(); ++i) {
        if (has(set, i)) ++counts[kPieces[i].profile];
    }
    std::string text;
    for (const auto& [name, count] : counts) {
        text += (text.empty() ? "" : ",") + name + '*' + std::to_string(count);
    }
    return text.empty() ? "none" : text;
}

std::vector<Instance> instances_of(Set set, Set busy) {
    std::vector<Instance> instances;
    for (std::size_t i = 0; i < kPieces.size(); ++i) {
        if (!has(set, i)) continue;
        instances.push_back({.profile = kPieces[i].profile,
                             .start = kPieces[i].start,
                             .size = kPieces[i].size,
                             .compute = {kPieces[i].slices},
                             .busy = has(busy, i)});
    }
    return instances;
}

Set bit_of(const Instance& instance) {
    for (std::size_t i = 0; i < kPieces.size(); ++i) {
        if (kPieces[i].profile == instance.profile && kPieces[i].start == instance.start &&
            kPieces[i].size == instance.size) {
            return Set{1} << i;
        }
    }
    ADD_FAILURE() << instance.profile << '@' << instance.start << " is no piece of an A100";
    return 0;
}

class Transitions : public testing::Test {
protected:
    Transitions()
        : geometry_(only(*geometry_of(*catalog::find_gpu_model("a100-40")),
                         {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"})) {
        for (Set set = 0; set < (Set{1} << kPieces.size()); ++set) {
            if (!holds(set)) continue;
            all_.push_back(set);
            by_kind_[kind_of(set)].push_back(set);
        }
        for (const auto& [kind, sets] : by_kind_) specs_.emplace(kind, *parse_layout_spec(kind));
    }

    /// The most idle instances that any placement keeps; -1: there is no placement.
    [[nodiscard]] int most_kept(const std::string& kind, Set now, Set busy) const {
        int most = -1;
        for (const Set set : by_kind_.at(kind)) {
            if ((set & busy) == busy) most = std::max(most, std::popcount(set & now & ~busy));
        }
        return most;
    }

    void check(Set now, Set busy, const std::string& kind) {
        const auto answer = plan(geometry_, instances_of(now, busy), specs_.at(kind));
        const int kept = most_kept(kind, now, busy);
        if (const Refusal* const refusal = std::get_if<Refusal>(&answer)) {
            ++refused_;
            EXPECT_EQ(kept, -1) << "a placement was missed";
            EXPECT_FALSE(refusal->reason.empty());
            check_nearest(*refusal, busy);
            return;
        }
        ++planned_;
        const Plan& found = std::get<Plan>(answer);
        Set state = now;
        for (const Step& step : found.steps) {
            const Set bit = bit_of(step.instance);
            EXPECT_EQ(bit & busy, 0U) << "a busy instance was touched";
            const bool create = step.action == Step::Action::kCreate;
            EXPECT_EQ((state & bit) == 0, create);
            state ^= bit;
            EXPECT_TRUE(holds(state)) << "a step on the way does not hold";
        }
        Set layout = 0;
        for (const Instance& instance : found.layout) layout |= bit_of(instance);
        EXPECT_EQ(state, layout);
        EXPECT_EQ(kind_of(layout), kind);
        EXPECT_EQ(layout & busy, busy);
        ASSERT_NE(kept, -1);
        EXPECT_EQ(found.steps.size(),
                  static_cast<std::size_t>(std::popcount(now & ~busy) - kept +
                                           std::popcount(layout & ~busy) - kept));
    }

    void check_nearest(const Refusal& refusal, Set busy) {
        Set layout = 0;
        for (const Instance& instance : refusal.nearest_layout) layout |= bit_of(instance);
        EXPECT_TRUE(holds(layout));
        EXPECT_EQ(layout & busy, busy);
        EXPECT_EQ(spec_text(refusal.nearest), kind_of(layout));
    }

    static std::string spec_text(const LayoutSpec& spec) {
        std::map<std::string, unsigned> counts;
        for (const InstanceSpec& want : spec) counts[gpu::to_text(*want.profile)] += want.count;
        std::string text;
        for (const auto& [name, count] : counts) {
            text += (text.empty() ? "" : ",") + name + '*' + std::to_string(count);
        }
        return text.empty() ? "none" : text;
    }

    Geometry geometry_;
    std::vector<Set> all_;
    std::map<std::string, std::vector<Set>> by_kind_;
    std::map<std::string, LayoutSpec> specs_;
    std::size_t planned_ = 0;
    std::size_t refused_ = 0;
};

TEST_F(Transitions, OfAnA100AreFoundWheneverThereIsOne) {
    ASSERT_EQ(all_.size(), 298U);
    ASSERT_EQ(by_kind_.size(), 38U);
    // From each layout to each multiset: that is every transition, as the spec has no places.
    std::mt19937 random(20261121);
    for (const Set now : all_) {
        for (const auto& [kind, sets] : by_kind_) {
            check(now, 0, kind);
            check(now, now & static_cast<Set>(random()), kind);
            check(now, now & static_cast<Set>(random()) & static_cast<Set>(random()), kind);
            // A busy part that the desired layout has too.
            const Set common = now & sets[random() % sets.size()];
            check(now, common & static_cast<Set>(random()), kind);
            if (HasFailure()) FAIL() << "from " << kind_of(now) << " (" << now << ") to " << kind;
        }
    }
    EXPECT_GT(planned_, 20'000U);
    EXPECT_GT(refused_, 5'000U);
}

TEST_F(Transitions, AreFoundWithEveryBusySubsetOfSomeLayouts) {
    std::mt19937 random(4);
    for (int i = 0; i < 40; ++i) {
        const Set now = all_[random() % all_.size()];
        const std::string kind = kind_of(all_[random() % all_.size()]);
        // All subsets of `now`, the empty one last.
        for (Set busy = now;; busy = (busy - 1) & now) {
            check(now, busy, kind);
            if (busy == 0 || HasFailure()) break;
        }
        ASSERT_FALSE(HasFailure()) << "from " << now << " to " << kind;
    }
}

}  // namespace
}  // namespace aliquot::mig
