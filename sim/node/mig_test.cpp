// SPDX-License-Identifier: Apache-2.0
#include "sim/node/mig.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "catalog/mig_profiles.h"
#include "sim/node/capabilities.h"
#include "sim/node/fault.h"
#include "sim/node/identity.h"
#include "sim/node/processes.h"
#include "sim/node/usage.h"

namespace aliquot::sim {
namespace {

constexpr unsigned kOneGiBPlain = 19;

std::unique_ptr<State> state_with(const std::string& model) {
    auto state = state_for({.gpus = {{.model = model}}});
    EXPECT_TRUE(state) << state.error().message;
    (*state)->gpus[0].mig_current = (*state)->gpus[0].mig_pending = 1;
    return *std::move(state);
}

Made create(State& state, unsigned profile, std::optional<unsigned> start = {}) {
    return create_gpu_instance(state, 0, profile, start);
}

using Layout = std::set<std::pair<unsigned, unsigned>>;  // profile id, start

/// Everything that can be reached by creating instances, one placement at a time.
class Explorer {
public:
    Explorer(const std::string& model, std::set<unsigned> profiles)
        : state_(state_with(model)), profiles_(std::move(profiles)) {
        explore({});
    }
    [[nodiscard]] std::size_t layouts() const { return seen_.size(); }
    [[nodiscard]] std::size_t maximal() const { return maximal_; }
    [[nodiscard]] std::size_t maximal_multisets() const { return multisets_.size(); }

private:
    void explore(const Layout& layout) {
        if (!seen_.insert(layout).second) return;
        bool full = true;
        for (const unsigned id : profiles_) {
            for (unsigned start = 0; start < 8; ++start) {
                const auto made = create(*state_, id, start);
                if (made.answer != MigAnswer::kDone) continue;
                full = false;
                Layout larger = layout;
                larger.insert({id, start});
                explore(larger);
                ASSERT_EQ(destroy_gpu_instance(*state_, 0, made.id), MigAnswer::kDone);
            }
        }
        if (!full) return;
        ++maximal_;
        std::multiset<unsigned> multiset;
        for (const auto& [id, start] : layout) multiset.insert(id);
        multisets_.insert(multiset);
    }

    std::unique_ptr<State> state_;
    std::set<unsigned> profiles_;
    std::set<Layout> seen_;
    std::size_t maximal_ = 0;
    std::set<std::multiset<unsigned>> multisets_;
};

TEST(Mig, ReachesEveryLayoutOfAnA100) {
    const Explorer plain("a100-40", {19, 14, 9, 5, 0});
    EXPECT_EQ(plain.layouts(), 298U);
    EXPECT_EQ(plain.maximal(), 19U);
    EXPECT_EQ(plain.maximal_multisets(), 14U);
}

TEST(Mig, ReachesEveryLayoutWithTheDoubleMemoryProfile) {
    const Explorer all("a100-40", {19, 15, 14, 9, 5, 0});
    EXPECT_EQ(all.layouts(), 723U);
    EXPECT_EQ(all.maximal(), 78U);
    EXPECT_EQ(all.maximal_multisets(), 38U);
}

TEST(Mig, ReachesEveryLayoutOfAnA30) {
    const Explorer plain("a30", {14, 5, 0});
    EXPECT_EQ(plain.layouts(), 26U);
    EXPECT_EQ(plain.maximal(), 5U);
    EXPECT_EQ(plain.maximal_multisets(), 4U);
}

TEST(Mig, ChoosesPlacesAsDriversWereSeenTo) {
    auto state = state_with("a100-40");
    std::vector<unsigned> ids;
    for (int i = 0; i < 7; ++i) ids.push_back(create(*state, kOneGiBPlain).id);
    EXPECT_EQ(ids, (std::vector<unsigned>{13, 11, 12, 7, 8, 9, 10}));
    EXPECT_EQ(create(*state, kOneGiBPlain).answer, MigAnswer::kNoRoom);

    state = state_with("a100-40");
    EXPECT_EQ(create(*state, 9).id, 2U);
    EXPECT_EQ(create(*state, 9).id, 1U);
    state = state_with("a100-40");
    EXPECT_EQ(create(*state, 19).id, 13U);
    EXPECT_EQ(create(*state, 14).id, 5U);
    EXPECT_EQ(create(*state, 5).id, 1U);
}

TEST(Mig, MayFailInOneOrderAndWorkInAnother) {
    auto state = state_with("a100-40");
    for (const unsigned id : {19, 19, 14}) EXPECT_EQ(create(*state, id).answer, MigAnswer::kDone);
    EXPECT_EQ(create(*state, 9).answer, MigAnswer::kNoRoom);
    state = state_with("a100-40");
    for (const unsigned id : {9, 19, 14, 19}) {
        EXPECT_EQ(create(*state, id).answer, MigAnswer::kDone) << id;
    }
}

TEST(Mig, NumbersInstancesByWhereTheyStand) {
    auto state = state_with("a100-40");
    EXPECT_EQ(create(*state, 5, 0).id, 1U);
    EXPECT_EQ(create(*state, 14, 4).id, 5U);
    EXPECT_EQ(create(*state, 15, 6).id, 6U);
    state = state_with("a100-40");
    EXPECT_EQ(create(*state, 0, 0).id, 0U);
    state = state_with("a30");
    EXPECT_EQ(create(*state, 5, 2).id, 2U);
    EXPECT_EQ(create(*state, 14, 0).id, 3U);
}

TEST(Mig, RefusesPlacesThatCannotBe) {
    auto state = state_with("a100-40");
    EXPECT_EQ(create(*state, 9, 2).answer, MigAnswer::kBadPlace);
    EXPECT_EQ(create(*state, 19, 7).answer, MigAnswer::kBadPlace);
    EXPECT_EQ(create(*state, 4711).answer, MigAnswer::kNoProfile);
    EXPECT_EQ(create(*state, 20, 0).answer, MigAnswer::kDone);
    EXPECT_EQ(create(*state, 20, 1).answer, MigAnswer::kNoRoom);
    EXPECT_EQ(create(*state, 14, 0).answer, MigAnswer::kNoRoom);
    state = state_with("a30");  // the media engines are there once, in whatever size
    EXPECT_EQ(create(*state, 21, 0).answer, MigAnswer::kDone);
    EXPECT_EQ(create(*state, 6, 2).answer, MigAnswer::kNoRoom);
}

TEST(Mig, CutsInstancesFurther) {
    auto state = state_with("a100-40");
    const unsigned id = create(*state, 9, 0).id;
    EXPECT_EQ(create_compute_instance(*state, 0, id, 1, 1).answer, MigAnswer::kBadPlace);
    EXPECT_EQ(create_compute_instance(*state, 0, id, 3, {}).answer, MigAnswer::kNoProfile);
    const auto two = create_compute_instance(*state, 0, id, 1, {});
    const auto one = create_compute_instance(*state, 0, id, 0, {});
    ASSERT_EQ(two.answer, MigAnswer::kDone);
    ASSERT_EQ(one.answer, MigAnswer::kDone);
    EXPECT_EQ(find_compute_instance(*state, 0, {id, one.id})->start, 2U);
    EXPECT_EQ(create_compute_instance(*state, 0, id, 0, {}).answer, MigAnswer::kNoRoom);
    EXPECT_EQ(destroy_gpu_instance(*state, 0, id), MigAnswer::kInUse);
    EXPECT_EQ(mig_devices(*state, 0), (std::vector<Instance>{{id, two.id}, {id, one.id}}));
    EXPECT_EQ(destroy_compute_instance(*state, 0, {id, two.id}), MigAnswer::kDone);
    EXPECT_EQ(destroy_compute_instance(*state, 0, {id, two.id}), MigAnswer::kNotFound);
    EXPECT_EQ(destroy_compute_instance(*state, 0, {id, one.id}), MigAnswer::kDone);
    EXPECT_EQ(destroy_gpu_instance(*state, 0, id), MigAnswer::kDone);
    EXPECT_EQ(destroy_gpu_instance(*state, 0, id), MigAnswer::kNotFound);
}

TEST(Mig, LeavesGapsInTheDeviceIndices) {
    auto state = state_with("h100-80");
    ASSERT_TRUE(cut_gpu(*state, 0, "1g.10gb*3"));
    const auto devices = mig_devices(*state, 0);
    ASSERT_EQ(devices.size(), 3U);
    const std::string gone(find_compute_instance(*state, 0, devices[1])->uuid.view());
    EXPECT_EQ(destroy_compute_instance(*state, 0, devices[1]), MigAnswer::kDone);
    EXPECT_EQ(find_compute_instance(*state, 0, devices[2])->device_index, 2U);
    const auto again = create_compute_instance(*state, 0, devices[1].gpu_instance, 0, {});
    const auto* const made = find_compute_instance(*state, 0, {devices[1].gpu_instance, again.id});
    EXPECT_EQ(made->device_index, 1U);
    EXPECT_TRUE(made->uuid.view().starts_with("MIG-"));
    EXPECT_NE(made->uuid.view(), gone);
}

TEST(Mig, ChangesItsModeAsTheArchitectureDoes) {
    auto state = *state_for({.gpus = {{.model = "a100-40"}, {.model = "h100-80"}}});
    EXPECT_EQ(set_mig_mode(*state, 0, true), MigAnswer::kNeedsReset);
    EXPECT_EQ(state->gpus[0].mig_current, 0U);
    EXPECT_EQ(state->gpus[0].mig_pending, 1U);
    apply_reset(*state, 0);
    EXPECT_EQ(state->gpus[0].mig_current, 1U);
    apply_reset(*state, 0);
    EXPECT_EQ(state->gpus[0].mig_current, 1U) << "the mode of an Ampere GPU is kept";

    const auto own = static_cast<std::uint32_t>(::getpid());
    ASSERT_TRUE(put_process(*state, 1, own, 1 << 20, 1));
    EXPECT_EQ(set_mig_mode(*state, 1, true), MigAnswer::kInUse);
    EXPECT_EQ(state->gpus[1].mig_pending, 1U);
    ASSERT_TRUE(put_process(*state, 1, own, 0, 0));
    EXPECT_EQ(set_mig_mode(*state, 1, true), MigAnswer::kDone);
    EXPECT_EQ(state->gpus[1].mig_current, 1U);
    ASSERT_TRUE(cut_gpu(*state, 1, "7g.80gb"));
    EXPECT_EQ(set_mig_mode(*state, 1, false), MigAnswer::kInUse);
    apply_reset(*state, 1);
    EXPECT_EQ(state->gpus[1].mig_current, 0U) << "that of a newer one is not";
    EXPECT_TRUE(mig_devices(*state, 1).empty());
}

TEST(Mig, BoundsTheMemoryOfAnInstance) {
    auto state = state_with("a100-40");
    ASSERT_TRUE(cut_gpu(*state, 0, "1g.5gb*2"));
    const auto devices = mig_devices(*state, 0);
    const auto own = static_cast<std::uint32_t>(::getpid());
    constexpr std::uint64_t kMi = 1 << 20;
    EXPECT_EQ(put_process(*state, 0, own, kMi, 0).error().code, ErrorCode::kConflict);
    const auto too_much = put_process(*state, 0, own, 4864 * kMi, 0, devices[0]);
    ASSERT_FALSE(too_much);
    EXPECT_TRUE(too_much.error().message.contains("out of memory")) << too_much.error().message;
    EXPECT_TRUE(put_process(*state, 0, own, 4800 * kMi, 70, devices[0]));
    EXPECT_TRUE(put_process(*state, 0, own, 4800 * kMi, 70, devices[1]));
    EXPECT_EQ(load_on(*state, 0).sm_percent, 18U) << "2 x 70 % of 14 of 108 multiprocessors";
    EXPECT_EQ(destroy_compute_instance(*state, 0, devices[0]), MigAnswer::kInUse);
    EXPECT_TRUE(put_process(*state, 0, own, 0, 0, devices[0]));
    EXPECT_EQ(destroy_compute_instance(*state, 0, devices[0]), MigAnswer::kDone);
    EXPECT_EQ(put_process(*state, 0, own, kMi, 0, devices[0]).error().code, ErrorCode::kNotFound);
}

TEST(Mig, ReadsLayouts) {
    auto state = state_with("a100-40");
    for (const auto* text :
         {"", "7g.40gb", "1g.5gb*7", "3g.20gb,2g.10gb,1g.5gb*2", "1g.5gb,2g.10gb,4g.20gb",
          "3g.20gb@0,1g.5gb@4,1g.5gb@6", "2g.10gb,2g.10gb,3g.20gb", "1g.5gb+me,1g.10gb*3,1g.5gb"}) {
        EXPECT_TRUE(cut_gpu(*state, 0, text)) << text;
    }
    for (const auto* text :
         {"1g.5gb*8", "7g.40gb,1g.5gb", "4g.20gb*2", "1g.5gb+me*2", "3g.20gb@0,4g.20gb"}) {
        const auto refused = cut_gpu(*state, 0, text);
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().code, ErrorCode::kConflict) << text;
    }
    for (const auto* text : {"1g.10gb@1", "9g.5gb", "1g.5gb*", "1g.5gb*0", "1g.5gb*99", ",",
                             "3g.20gb@x", "3g.20gb@0*2"}) {
        const auto refused = cut_gpu(*state, 0, text);
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput) << text;
    }
    EXPECT_EQ(mig_devices(*state, 0).size(), 5U) << "a refused layout changes nothing";
    auto without = *state_for({.gpus = {{.model = "a2"}}});
    EXPECT_EQ(cut_gpu(*without, 0, "1g.5gb").error().code, ErrorCode::kUnsupported);
}

TEST(Mig, SurvivesInstancesThatMakeNoSense) {
    auto state = state_with("a100-40");
    GpuInstanceState& broken = state->mig[0].instances[3];
    broken = {
        .incarnation = 1, .profile_id = 14, .start = 70, .size = 2, .reserved = 0, .compute = {}};
    EXPECT_FALSE(find_gpu_instance(*state, 0, 3));
    broken.start = 0;
    broken.compute[0] = {.incarnation = 2,
                         .profile_id = 1,
                         .start = 4'000'000'000,
                         .slices = 2,
                         .device_index = 77,
                         .uuid = {}};
    EXPECT_TRUE(mig_devices(*state, 0).empty());
    broken.compute[0].start = 0;
    EXPECT_EQ(mig_devices(*state, 0).size(), 1U);
    EXPECT_EQ(create(*state, 9, 0).answer, MigAnswer::kNoRoom);
}

TEST(MigProfiles, AreThoseOfTheCatalogue) {
    const std::map<std::string_view, std::string_view> families = {{"h200-141", "h200"}};
    for (const Model& model : models()) {
        const auto other = families.find(model.name);
        const auto family = other == families.end() ? model.name : other->second;
        std::size_t count = 0;
        for (const auto& theirs : catalog::mig_profiles()) {
            if (theirs.family != family) continue;
            ++count;
            const GpuProfile* const ours = find_gpu_profile(model, theirs.name);
            ASSERT_NE(ours, nullptr) << family << " " << theirs.name;
            const auto id = theirs.id.substr(theirs.id.starts_with('~') ? 1 : 0);
            EXPECT_EQ(std::to_string(ours->id), id) << family << " " << theirs.name;
            EXPECT_EQ(ours->slices, theirs.slices);
            EXPECT_EQ(ours->size, theirs.memory_slices);
            EXPECT_EQ(ours->most, theirs.most);
            EXPECT_NEAR(ours->memory_mib / 1024.0, theirs.memory_gib, 0.03);
            if (theirs.multiprocessors != 0) {
                EXPECT_EQ(ours->multiprocessors, theirs.multiprocessors) << family << theirs.name;
            }
            unsigned starts = 0;
            for (const unsigned start : theirs.starts) starts |= 1U << start;
            EXPECT_EQ(ours->starts, starts) << family << " " << theirs.name;
        }
        EXPECT_EQ(gpu_profiles(model).size(), count) << family;
        EXPECT_EQ(model.mig_devices > 0, count > 0) << family;
    }
}

TEST(MigProfiles, AreNamedByTheirShareOfTheMemory) {
    for (const Model& model : models()) {
        for (const GpuProfile& profile : gpu_profiles(model)) {
            const double eighths = std::ceil(8.0 * profile.memory_mib / model.memory_mib) / 8;
            const double total = std::ceil(model.memory_mib / 1024.0);
            const auto gigabytes = static_cast<unsigned>(std::lround(eighths * total));
            const std::string name = std::to_string(profile.slices) + "g." +
                                     std::to_string(gigabytes) + "gb" +
                                     (profile.media() ? "+me" : "");
            EXPECT_EQ(profile.name, name) << model.name;
        }
    }
}

TEST(MigProfiles, CutEachInstanceInWholeSlices) {
    const Model& a100 = *find_model("a100-40");
    const auto count = [&](std::string_view name, unsigned id) {
        return compute_profile(a100, *find_gpu_profile(a100, name), id).most;
    };
    EXPECT_EQ(count("7g.40gb", 0), 7U);
    EXPECT_EQ(count("7g.40gb", 1), 3U);
    EXPECT_EQ(count("7g.40gb", 2), 2U);
    EXPECT_EQ(count("7g.40gb", 3), 1U);
    EXPECT_EQ(count("7g.40gb", 4), 1U);
    EXPECT_EQ(count("3g.20gb", 0), 3U);
    EXPECT_EQ(count("3g.20gb", 1), 1U);
    EXPECT_EQ(count("3g.20gb", 3), 0U);
    EXPECT_EQ(count("4g.20gb", 2), 0U);
    EXPECT_EQ(count("1g.5gb", 0), 1U);
    EXPECT_EQ(count("1g.5gb", 5), 0U);
    const Model& h100 = *find_model("h100-80");
    const GpuProfile& three = *find_gpu_profile(h100, "3g.40gb");
    EXPECT_EQ(compute_profile(h100, three, 1).multiprocessors, 32U);
    EXPECT_EQ(full_compute_profile(h100, three).multiprocessors, 60U);
    EXPECT_EQ(device_profile_name(three, 1), "1c.3g.40gb");
}

TEST(Capabilities, HaveTheDriversMinors) {
    EXPECT_EQ(capability_minor(0, 1, kNoInstance), 12U);
    EXPECT_EQ(capability_minor(0, 1, 0), 13U);
    EXPECT_EQ(capability_minor(1, 0, kNoInstance), 138U);
    EXPECT_EQ(capability_minor(1, 0, 7), 146U);
}

TEST(Faults, OfAnInstanceCarryItsIds) {
    auto state = state_with("a100-40");
    ASSERT_TRUE(cut_gpu(*state, 0, "3g.20gb"));
    const Instance device = mig_devices(*state, 0).front();
    EXPECT_EQ(apply_fault(*state, 0, FaultKind::kXid, 13, {9, 0}).error().code,
              ErrorCode::kNotFound);
    ASSERT_TRUE(apply_fault(*state, 0, FaultKind::kXid, 13, device));
    const EventState& event = state->events[(state->next_event - 1) % kMaxEvents];
    EXPECT_EQ(event.type, kEventXid);
    EXPECT_EQ(event.gpu_instance, device.gpu_instance);
    EXPECT_EQ(event.compute_instance, 0U);
}

TEST(Faults, OfMemoryRowsAreMendedByAResetOrNot) {
    auto state = *state_for({.gpus = {{.model = "a100-40"}, {.model = "v100-16"}}});
    ASSERT_TRUE(apply_fault(*state, 0, FaultKind::kRemapPending, 0));
    ASSERT_TRUE(apply_fault(*state, 0, FaultKind::kRemapFailed, 0));
    EXPECT_EQ(fault_text(state->gpus[0].fault),
              "row or page waits for a reset, row remapping failed");
    apply_reset(*state, 0);
    EXPECT_EQ(fault_text(state->gpus[0].fault), "row remapping failed");
    ASSERT_TRUE(apply_fault(*state, 1, FaultKind::kRetirePending, 0));
    EXPECT_EQ(apply_fault(*state, 1, FaultKind::kRemapFailed, 0).error().code,
              ErrorCode::kUnsupported);
    EXPECT_EQ(apply_fault(*state, 0, FaultKind::kRetirePending, 0).error().code,
              ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace aliquot::sim
