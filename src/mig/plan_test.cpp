// SPDX-License-Identifier: Apache-2.0
#include "mig/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::mig {
namespace {

using testing::HasSubstr;

const Geometry& geometry(std::string_view model) {
    static std::map<std::string, Geometry, std::less<>> known;
    const auto found = known.find(model);
    if (found != known.end()) return found->second;
    return known.emplace(model, *geometry_of(*catalog::find_gpu_model(model))).first->second;
}

std::variant<Plan, Refusal> ask(std::string_view model, std::string_view now, std::string_view spec,
                                PlanOptions options = {}) {
    const Geometry& known = geometry(model);
    const auto instances = parse_instances(now, known);
    EXPECT_TRUE(instances.ok()) << (instances ? "" : instances.error().message);
    const auto desired = parse_layout_spec(spec);
    EXPECT_TRUE(desired.ok()) << (desired ? "" : desired.error().message);
    return plan(known, *instances, *desired, options);
}

/// "-2g.10gb@0 +3g.20gb@4 = 3g.20gb@4", or the reason and the nearest.
std::string answer(std::string_view model, std::string_view now, std::string_view spec,
                   PlanOptions options = {}) {
    const Geometry& known = geometry(model);
    const auto result = ask(model, now, spec, options);
    std::string text;
    if (const Refusal* const refusal = std::get_if<Refusal>(&result)) {
        return refusal->reason + " | " + to_text(refusal->nearest);
    }
    for (const Step& step : std::get<Plan>(result).steps) {
        text += step.action == Step::Action::kDestroy ? "-" : "+";
        text += to_text(step.instance, known) + ' ';
    }
    text += '=';
    for (const Instance& instance : std::get<Plan>(result).layout) {
        text += ' ' + to_text(instance, known);
    }
    return text;
}

TEST(MigPlan, AnswersTheContractsExample) {
    EXPECT_EQ(
        answer("a100-40", "3g.20gb@0,1g.5gb@4:busy", "3g.20gb,2g.10gb,1g.5gb*2"),
        "3g.20gb,2g.10gb,1g.5gb*2 does not fit beside 1g.5gb@4, which is busy and cannot move "
        "(free: 6 of 7 compute slices) | 3g.20gb,1g.10gb,1g.5gb*2");
    EXPECT_EQ(answer("a100-40", "3g.20gb@0,1g.5gb@4:busy", "3g.20gb,1g.5gb*3"),
              "+1g.5gb@5 +1g.5gb@6 = 3g.20gb@0 1g.5gb@4 (busy) 1g.5gb@5 1g.5gb@6");
    EXPECT_EQ(answer("a100-40", "3g.20gb@0", "3g.20gb,2g.10gb,1g.5gb*2"),
              "-3g.20gb@0 +3g.20gb@4 +2g.10gb@0 +1g.5gb@2 +1g.5gb@3 = 2g.10gb@0 1g.5gb@2 "
              "1g.5gb@3 3g.20gb@4");
}

TEST(MigPlan, CutsAnA100AsTheGuidesDo) {
    EXPECT_EQ(answer("a100-40", "", "1g.5gb*7"),
              "+1g.5gb@0 +1g.5gb@1 +1g.5gb@2 +1g.5gb@3 +1g.5gb@4 +1g.5gb@5 +1g.5gb@6 = "
              "1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6");
    EXPECT_EQ(answer("a100-40", "1g.5gb@0,1g.5gb@1,1g.5gb@2,1g.5gb@3,1g.5gb@4,1g.5gb@5,1g.5gb@6",
                     "3g.20gb*2"),
              "-1g.5gb@0 -1g.5gb@1 -1g.5gb@2 -1g.5gb@3 -1g.5gb@4 -1g.5gb@5 -1g.5gb@6 +3g.20gb@0 "
              "+3g.20gb@4 = 3g.20gb@0 3g.20gb@4");
}

TEST(MigPlan, LeavesTheMostRoom) {
    EXPECT_EQ(answer("a100-80", "", "3g.40gb"), "+3g.40gb@4 = 3g.40gb@4");
    EXPECT_EQ(answer("a100-80", "", "1g.10gb"), "+1g.10gb@6 = 1g.10gb@6");
    EXPECT_EQ(answer("a100-40", "", "3g.20gb,2g.10gb,1g.5gb"),
              "+3g.20gb@4 +2g.10gb@0 +1g.5gb@2 = 2g.10gb@0 1g.5gb@2 3g.20gb@4");
}

TEST(MigPlan, KeepsWhatIsThere) {
    EXPECT_EQ(answer("a100-40", "3g.20gb@0", "3g.20gb"), "= 3g.20gb@0");
    EXPECT_EQ(answer("a100-40", "3g.20gb@0,1g.5gb@4", "1g.5gb*2,3g.20gb"),
              "+1g.5gb@5 = 3g.20gb@0 1g.5gb@4 1g.5gb@5");
    EXPECT_EQ(answer("a100-40", "3g.20gb@0:busy", "3g.20gb*2"),
              "+3g.20gb@4 = 3g.20gb@0 (busy) 3g.20gb@4");
    EXPECT_EQ(answer("a100-40", "3g.20gb@0:busy,1g.5gb@5", "3g.20gb,2g.10gb,1g.5gb"),
              "-1g.5gb@5 +2g.10gb@4 +1g.5gb@6 = 3g.20gb@0 (busy) 2g.10gb@4 1g.5gb@6");
}

TEST(MigPlan, ServesMemoryWithWhatIsThereElseWithTheSmallest) {
    EXPECT_EQ(answer("a100-40", "", "memory=9Gi*3"),
              "+1g.10gb@0 +1g.10gb@2 +1g.10gb@6 = 1g.10gb@0 1g.10gb@2 1g.10gb@6");
    EXPECT_EQ(answer("a100-40", "3g.20gb@0", "memory=9Gi"), "= 3g.20gb@0");
    EXPECT_EQ(answer("a30", "", "slices=2*2"), "+2g.12gb@0 +2g.12gb@2 = 2g.12gb@0 2g.12gb@2");
}

TEST(MigPlan, SplitsAnInstanceIntoComputeInstances) {
    EXPECT_EQ(answer("a100-40", "3g.20gb@4", "1c.3g.20gb*3"),
              "-3g.20gb@4 +3g.20gb@4 as 1c.3g.20gb*3 = 3g.20gb@4 as 1c.3g.20gb*3");
    EXPECT_EQ(answer("a100-40", "3g.20gb@4:busy", "1c.3g.20gb*3,3g.20gb"),
              "+3g.20gb@0 as 1c.3g.20gb*3 = 3g.20gb@0 as 1c.3g.20gb*3 3g.20gb@4 (busy)");
}

TEST(MigPlan, SaysWhyNotAndWhatComesNearest) {
    EXPECT_EQ(answer("a100-40", "", "1g.5gb*8"),
              "1g.5gb*8 does not fit: 8 times 1g.5gb, but a GPU takes at most 7 | 1g.5gb*7");
    EXPECT_EQ(answer("a100-40", "", "4g.20gb,3g.20gb,1g.5gb"),
              "4g.20gb,3g.20gb,1g.5gb does not fit: it needs 8 compute slices and the GPU has 7 | "
              "4g.20gb,3g.20gb");
    EXPECT_EQ(answer("a100-40", "", "3g.20gb*2,1g.5gb"),
              "3g.20gb*2,1g.5gb does not fit: it needs 9 memory slices and the GPU has 8 | "
              "3g.20gb*2");
    EXPECT_EQ(answer("a100-40", "", "2g.10gb*3,1g.5gb+me,1g.5gb+me"),
              "2g.10gb*3,1g.5gb+me,1g.5gb+me does not fit: 2 times 1g.5gb+me, but a GPU takes at "
              "most 1 | 2g.10gb*3,1g.5gb+me");
    EXPECT_EQ(answer("a100-40", "", "4g.20gb*2"),
              "4g.20gb*2 does not fit: 2 times 4g.20gb, but a GPU takes at most 1 | "
              "4g.20gb,3g.20gb");
    EXPECT_EQ(answer("a100-80", "", "3g.20gb"),
              "this GPU has no MIG profile 3g.20gb; it has 1g.10gb, 1g.10gb+me, 1g.20gb, 2g.20gb, "
              "3g.40gb, 4g.40gb, 7g.80gb | 3g.40gb");
}

TEST(MigPlan, NamesTheBusyInstanceThatBlocks) {
    EXPECT_EQ(answer("a100-40", "1g.5gb@0:busy,1g.5gb@6:busy", "4g.20gb,1g.5gb*2"),
              "4g.20gb,1g.5gb*2 does not fit beside 1g.5gb@0, which is busy and cannot move "
              "(free: 5 of 7 compute slices) | 2g.10gb,1g.5gb*2");
    EXPECT_EQ(answer("a100-40", "2g.10gb@0:busy", "3g.20gb"),
              "2g.10gb@0 is busy and not in the layout 3g.20gb: busy instances stay; name it "
              "too, or end what runs there | 2g.10gb");
    EXPECT_EQ(answer("a100-40", "2g.10gb@0:busy", "3g.20gb", {.leave_busy = true}),
              "+3g.20gb@4 = 2g.10gb@0 (busy) 3g.20gb@4");
}

TEST(MigPlan, TakesAnInstanceOfAnUnknownProfileForOneThatIsNotDesired) {
    const Geometry& known = geometry("a100-40");
    std::vector<Instance> now{{.profile = "2g.99gb", .start = 0, .size = 2, .compute = {2}}};
    auto result = plan(known, now, *parse_layout_spec("7g.40gb"));
    ASSERT_TRUE(std::holds_alternative<Plan>(result));
    EXPECT_EQ(std::get<Plan>(result).steps.size(), 2U);
    now[0].busy = true;
    result = plan(known, now, *parse_layout_spec("3g.20gb"));
    ASSERT_TRUE(std::holds_alternative<Refusal>(result));
    EXPECT_THAT(std::get<Refusal>(result).reason, HasSubstr("2g.99gb@0 is busy"));
}

TEST(MigPlan, KnowsWhenNothingIsToBeDone) {
    const Geometry& known = geometry("a100-40");
    const auto now = parse_instances("3g.20gb@0,1g.5gb@4:busy", known);
    EXPECT_TRUE(is_reached(known, *now, *parse_layout_spec("1g.5gb,3g.20gb")));
    EXPECT_TRUE(is_reached(known, *now, *parse_layout_spec("slices=1,memory=12Gi")));
    EXPECT_FALSE(is_reached(known, *now, *parse_layout_spec("3g.20gb")));
    EXPECT_FALSE(is_reached(known, *now, *parse_layout_spec("1g.5gb,3g.20gb,1g.5gb")));
}

TEST(MigInstances, AreReadAgainstTheGpu) {
    const Geometry& known = geometry("a100-40");
    for (const auto bad : {"3g.20gb", "3g.20gb@", "3g.20gb@2", "3g.40gb@0", "3g.20gb@0:hot", "x@0",
                           "3g.20gb@0,1g.5gb@3", "4g.20gb@0,3g.20gb@4,1g.5gb@6", ","}) {
        EXPECT_FALSE(parse_instances(bad, known).ok()) << bad;
    }
    const auto two = parse_instances("1g.5gb@4:busy, 3g.20gb@0:idle", known);
    ASSERT_TRUE(two);
    EXPECT_EQ(two->front().profile, "3g.20gb");
    EXPECT_TRUE(two->back().busy);
}

}  // namespace
}  // namespace aliquot::mig
