// SPDX-License-Identifier: Apache-2.0
#include "mig/apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mig/stub_partitioner.h"
#include "os/temporary_directory.h"

namespace aliquot::mig {
namespace {

using testing::HasSubstr;
using State = GpuReport::State;

/// Time passes only while somebody sleeps.
class StepClock final : public os::Clock {
public:
    [[nodiscard]] os::TimePoint now() const override { return now_; }
    bool sleep_until(os::TimePoint when, std::stop_token /*stop*/) override {
        now_ = std::max(now_, when);
        return true;
    }

private:
    os::TimePoint now_{};
};

class Apply : public testing::Test {
protected:
    Apply() : state_(*StateDirectory::open(root_, "/mig", {}, clock_)) {}

    GpuSpec spec(unsigned gpu, std::string_view text) {
        GpuSpec spec{.gpu = {"GPU-" + std::to_string(gpu)}, .index = gpu, .enabled = text != "off"};
        if (spec.enabled) spec.spec = *parse_layout_spec(text);
        spec.known_geometry = gpus_.geometry();
        return spec;
    }
    ApplyReport run(const std::vector<GpuSpec>& specs) {
        auto report = apply(gpus_, state_, specs, options_, clock_);
        EXPECT_TRUE(report.ok()) << report.error().message;
        return report ? std::move(*report) : ApplyReport{};
    }
    bool unfinished() { return state_.read_journal()->has_value(); }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    StepClock clock_;
    StateDirectory state_;
    StubNode node_;
    StubPartitioner gpus_{node_};
    ApplyOptions options_;
};

TEST_F(Apply, PutsInstancesAtTheirPlacesAndNeedNotRememberThem) {
    gpus_.cut(0, "1g.5gb@0,2g.10gb@2:busy,1g.5gb@6");
    const auto exact = [&](std::string_view instances) {
        GpuSpec one = spec(0, "none");
        one.exact = *parse_instances(instances, gpus_.geometry());
        return one;
    };
    options_.remember = false;
    EXPECT_TRUE(run({exact("1g.5gb@1,2g.10gb@2:busy,3g.20gb@4")}).reached);
    EXPECT_EQ(gpus_.text(0), "1g.5gb@1,2g.10gb@2:busy,3g.20gb@4");
    EXPECT_TRUE(state_.read_last_applied()->gpus.empty());
    const ApplyReport refused = run({exact("3g.20gb@4")});
    EXPECT_FALSE(refused.reached);
    EXPECT_EQ(refused.problem, "GPU 0: 2g.10gb@2 is busy and would have to go");
    const ApplyReport same = run({exact("1g.5gb@1,2g.10gb@2:busy,3g.20gb@4")});
    EXPECT_EQ(same.gpus.at(0).state, State::kUnchanged);
    EXPECT_FALSE(unfinished());
}

// Whoever finishes it later remembers as little.
TEST_F(Apply, RemembersNothingOfAChangeThatWasCutOffEither) {
    gpus_.cut(0, "none");
    options_.remember = false;
    options_.checkpoint = [](std::string_view step) {
        if (step == "after write the journal") throw std::runtime_error("killed");
    };
    EXPECT_THROW((void)apply(gpus_, state_, {spec(0, "3g.20gb")}, options_, clock_),
                 std::runtime_error);
    options_ = {};
    ASSERT_TRUE(recover(gpus_, state_, options_, clock_));
    EXPECT_EQ(gpus_.text(0), "3g.20gb@4");
    EXPECT_TRUE(state_.read_last_applied()->gpus.empty());
}

TEST_F(Apply, RestoresNoGpuThatAPodHoldsWhole) {
    gpus_.cut(0, "none");
    (void)run({spec(0, "3g.20gb*2")});
    gpus_.cut(0, "off");
    options_.held = {"GPU-0"};
    const auto report = restore(gpus_, state_, options_, clock_);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->gpus.at(0).state, State::kLeft);
    EXPECT_EQ(gpus_.text(0), "off");
    options_.held.clear();
    ASSERT_TRUE(restore(gpus_, state_, options_, clock_));
    EXPECT_EQ(gpus_.text(0), "3g.20gb@0,3g.20gb@4");
}

TEST_F(Apply, CutsAGpuAndRemembersIt) {
    gpus_.cut(0, "none");
    const ApplyReport report = run({spec(0, "1g.5gb*7")});
    EXPECT_TRUE(report.reached) << report.problem;
    EXPECT_EQ(report.gpus.at(0).state, State::kReached);
    EXPECT_EQ(report.gpus.at(0).steps.size(), 7U);
    EXPECT_EQ(gpus_.text(0), "1g.5gb@0,1g.5gb@1,1g.5gb@2,1g.5gb@3,1g.5gb@4,1g.5gb@5,1g.5gb@6");
    EXPECT_FALSE(unfinished());
    EXPECT_EQ(state_.read_last_applied()->gpus.at(0).cut.instances.size(), 7U);
    const unsigned calls = node_.calls;
    EXPECT_EQ(run({spec(0, "1g.5gb*7")}).gpus.at(0).state, State::kUnchanged);
    EXPECT_EQ(node_.calls, calls);
}

TEST_F(Apply, GoesFromSevenToTwoAndKeepsWhatIsBusy) {
    gpus_.cut(0, "1g.5gb@0,1g.5gb@1,1g.5gb@2,1g.5gb@3,1g.5gb@4,1g.5gb@5,1g.5gb@6");
    EXPECT_TRUE(run({spec(0, "3g.20gb*2")}).reached);
    EXPECT_EQ(gpus_.text(0), "3g.20gb@0,3g.20gb@4");
    gpus_.cut(0, "3g.20gb@4:busy,1g.5gb@0");
    EXPECT_TRUE(run({spec(0, "3g.20gb,1c.3g.20gb*3")}).reached);
    EXPECT_EQ(gpus_.text(0), "3g.20gb@0,3g.20gb@4:busy");
}

TEST_F(Apply, TurnsTheModeOnWithAResetOfThatGpuOnly) {
    node_.gpus[0].resetless = false;
    EXPECT_TRUE(run({spec(0, "3g.20gb")}).reached);
    EXPECT_EQ(gpus_.text(0), "3g.20gb@4");
    EXPECT_EQ(node_.gpus[0].resets, 1U);
    EXPECT_EQ(node_.gpus[1].resets, 0U);
    EXPECT_TRUE(run({spec(0, "off")}).reached);
    EXPECT_EQ(gpus_.text(0), "off");
    EXPECT_EQ(node_.gpus[0].resets, 2U);
}

TEST_F(Apply, TouchesNoGpuWhenOneIsRefused) {
    gpus_.cut(0, "none");
    gpus_.cut(1, "2g.10gb@0:busy");
    const ApplyReport report = run({spec(0, "7g.40gb"), spec(1, "7g.40gb")});
    EXPECT_FALSE(report.reached);
    EXPECT_THAT(report.problem, HasSubstr("GPU 1: 2g.10gb@0 is busy"));
    EXPECT_EQ(report.gpus.at(0).state, State::kPlanned);
    EXPECT_EQ(report.gpus.at(1).state, State::kRefused);
    EXPECT_EQ(to_text(report.gpus.at(1).refusal->nearest), "2g.10gb");
    EXPECT_EQ(node_.calls, 0U);
    EXPECT_FALSE(unfinished());
}

TEST_F(Apply, RefusesAModeChangeOfAGpuInUse) {
    node_.gpus[0].in_use = true;
    EXPECT_THAT(run({spec(0, "3g.20gb")}).problem, HasSubstr("a process has the GPU open"));
    node_.gpus[0].in_use = false;
    options_.held = {"GPU-0"};
    EXPECT_THAT(run({spec(0, "3g.20gb")}).problem, HasSubstr("a pod holds the GPU"));
    options_.held = {"MIG-GPU-1-0-0"};
    gpus_.cut(1, "3g.20gb@0");
    EXPECT_THAT(run({spec(1, "off")}).problem, HasSubstr("3g.20gb@0 is busy"));
    EXPECT_THAT(run({spec(1, "7g.40gb")}).problem, HasSubstr("3g.20gb@0 is busy"));
    options_.allow_reset = false;
    node_.gpus[2].resetless = false;
    EXPECT_THAT(run({spec(2, "7g.40gb")}).problem, HasSubstr("without a reset"));
    EXPECT_EQ(node_.calls, 0U);
}

TEST_F(Apply, OnlyPlansInADryRun) {
    gpus_.cut(0, "1g.5gb@0");
    options_.dry_run = true;
    const ApplyReport report = run({spec(0, "3g.20gb"), spec(1, "7g.40gb")});
    EXPECT_TRUE(report.reached);
    EXPECT_EQ(report.gpus.at(0).steps.size(), 2U);
    EXPECT_TRUE(report.gpus.at(1).mode_changes);
    EXPECT_EQ(node_.calls, 0U);
}

TEST_F(Apply, TakesEveryGpuBackWhenOneFails) {
    gpus_.cut(0, "3g.20gb@0,1g.5gb@4");
    gpus_.cut(1, "2g.10gb@2");
    gpus_.fault = [](unsigned gpu, std::string_view call) -> Result<Done> {
        if (gpu == 1 && call == "create") return Error{ErrorCode::kUnsupported, "no luck"};
        return Done{};
    };
    const auto first = [&] { return run({spec(0, "7g.40gb"), spec(1, "2g.10gb,3g.20gb")}); }();
    EXPECT_FALSE(first.reached);
    EXPECT_EQ(first.problem, "GPU 1: create 3g.20gb@4: no luck");
    EXPECT_EQ(first.gpus.at(0).state, State::kRolledBack);
    EXPECT_EQ(first.gpus.at(1).state, State::kRolledBack);
    EXPECT_EQ(gpus_.text(0), "3g.20gb@0,1g.5gb@4");
    EXPECT_EQ(gpus_.text(1), "2g.10gb@2");
    EXPECT_FALSE(unfinished());
    EXPECT_TRUE(state_.read_last_applied()->gpus.empty());
}

TEST_F(Apply, SaysHonestlyWhatItCouldNotTakeBackAndTriesAgainLater) {
    gpus_.cut(0, "3g.20gb@0");
    bool broken = false;
    gpus_.fault = [&](unsigned /*gpu*/, std::string_view call) -> Result<Done> {
        broken = broken || call == "create";
        if (broken) return Error{ErrorCode::kUnavailable, "driver is dead"};
        return Done{};
    };
    const ApplyReport report = run({spec(0, "7g.40gb")});
    EXPECT_EQ(report.gpus.at(0).state, State::kHalf);
    EXPECT_THAT(report.gpus.at(0).message, HasSubstr("could not be taken back: create 3g.20gb@0"));
    EXPECT_TRUE(unfinished());
    // It concerns GPU 0: a spec for another GPU waits for it.
    gpus_.cut(1, "none");
    const auto other = apply(gpus_, state_, {spec(1, "7g.40gb")}, options_, clock_);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::kConflict);
    gpus_.fault = nullptr;
    const ApplyReport later = run({spec(1, "7g.40gb")});
    EXPECT_TRUE(later.reached);
    EXPECT_EQ(later.recovered, "GPU 0 rolled back");
    EXPECT_EQ(gpus_.text(0), "3g.20gb@0");
}

TEST_F(Apply, TriesAgainWhenSomebodyLooksInAtTheWrongMoment) {
    gpus_.cut(0, "3g.20gb@0");
    unsigned refusals = 2;
    gpus_.fault = [&](unsigned /*gpu*/, std::string_view call) -> Result<Done> {
        if (call == "destroy" && refusals-- > 0) return Error{ErrorCode::kConflict, "In use"};
        return Done{};
    };
    EXPECT_TRUE(run({spec(0, "7g.40gb")}).reached);
}

TEST_F(Apply, GoesBackWhenAProcessComesInBetween) {
    gpus_.cut(0, "3g.20gb@0,3g.20gb@4");
    gpus_.fault = [&](unsigned /*gpu*/, std::string_view call) -> Result<Done> {
        if (call == "destroy") node_.gpus[0].instances[1].compute[0].busy = true;
        return Done{};
    };
    const ApplyReport report = run({spec(0, "7g.40gb")});
    EXPECT_FALSE(report.reached);
    EXPECT_EQ(gpus_.text(0), "3g.20gb@0,3g.20gb@4:busy");
    EXPECT_EQ(report.gpus.at(0).state, State::kRolledBack);
}

TEST_F(Apply, GivesUpWhenItsTimeIsOver) {
    gpus_.cut(0, "3g.20gb@0");
    options_.limit = std::chrono::milliseconds{1000};
    gpus_.fault = [&](unsigned /*gpu*/, std::string_view call) -> Result<Done> {
        if (call == "create") clock_.sleep_for(std::chrono::milliseconds{600}, {});
        return Done{};
    };
    const ApplyReport report = run({spec(0, "1g.5gb*7")});
    EXPECT_FALSE(report.reached);
    EXPECT_THAT(report.problem, HasSubstr("the limit of 1000 ms is over"));
    EXPECT_EQ(gpus_.text(0), "3g.20gb@0");
}

TEST_F(Apply, RestoresWhatWasLostInAReboot) {
    gpus_.cut(0, "none");
    ASSERT_TRUE(run({spec(0, "3g.20gb,1g.5gb*2"), spec(1, "7g.40gb")}).reached);
    gpus_.cut(0, "none");  // Ampere keeps the mode
    gpus_.cut(1, "off");   // Hopper does not
    auto report = restore(gpus_, state_, options_, clock_);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->reached);
    EXPECT_EQ(gpus_.text(0), "1g.5gb@0,1g.5gb@1,3g.20gb@4");
    EXPECT_EQ(gpus_.text(1), "7g.40gb@0");
    gpus_.cut(0, "2g.10gb@0");
    node_.gpus[1].gone = true;
    report = restore(gpus_, state_, options_, clock_);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->gpus.at(0).state, State::kLeft);
    EXPECT_EQ(report->gpus.at(1).state, State::kGone);
    EXPECT_EQ(gpus_.text(0), "2g.10gb@0");
}

}  // namespace
}  // namespace aliquot::mig
