// SPDX-License-Identifier: Apache-2.0
#include "agent/mig_change.h"

#include <gmock/gmock.h>

namespace aliquot::agent {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Drain = ClusterOptions::Drain;
using Event = MigEvent::Kind;
using Outcome = MigPlan::Outcome;
using State = MigChange::State;

/// A change, and what it asked for on its way, one word or sentence each.
class MigChanges : public testing::Test {
protected:
    void happen(MigEvent event) {
        done_.clear();
        MigStep step = next_step(change_, event, rules_, now_);
        change_ = step.change;
        for (const MigAction& action : step.actions) done_.push_back(text(action));
    }
    void asked(const std::string& config) { happen({.kind = Event::kAsked, .config = config}); }
    void happen(Event kind) { happen(MigEvent{.kind = kind}); }
    void planned(Outcome outcome, const std::string& why = {},
                 const std::vector<std::string>& pods = {}) {
        happen({.kind = Event::kPlanned,
                .plan = {.outcome = outcome, .why = why, .pods = pods, .gpus = {{"GPU-0"}}}});
    }
    void cut(const std::string& problem = {}) { happen({.kind = Event::kCut, .problem = problem}); }
    /// As far as the GPUs being withheld.
    void withhold() {
        asked("all-1g.5gb");
        planned(rules_.drain == Drain::kRefuse ? Outcome::kFree : Outcome::kHeld, "is busy",
                {"default/a"});
        happen(Event::kWithheld);
    }

    static std::string text(const MigAction& action) {
        switch (action.kind) {
            case MigAction::Kind::kTell:
                return std::string(to_text(action.status.state)) + "(" + action.status.config +
                       ") " + action.status.problem;
            case MigAction::Kind::kWithhold:
                return "withhold " + action.gpus.begin()->text;
            case MigAction::Kind::kRelease:
                return "release";
            case MigAction::Kind::kEvict:
                return "evict " + action.pods.front();
        }
        return "";
    }

    MigRules rules_;
    os::TimePoint now_ = os::TimePoint{} + 1h;
    MigChange change_;
    std::vector<std::string> done_;
};

TEST_F(MigChanges, GoFromTheLabelToSuccess) {
    asked("all-1g.5gb");
    EXPECT_EQ(change_.state, State::kPlanning);
    planned(Outcome::kFree);
    EXPECT_EQ(change_.state, State::kWithholding);
    EXPECT_EQ(change_.until, now_ + rules_.withhold_limit);
    EXPECT_THAT(done_, ElementsAre("pending(all-1g.5gb) GPUs are being cut", "withhold GPU-0"));
    happen(Event::kWithheld);
    EXPECT_EQ(change_.state, State::kLooking);
    planned(Outcome::kFree);
    EXPECT_EQ(change_.state, State::kCutting);
    cut();
    EXPECT_EQ(change_.state, State::kShowing);
    EXPECT_EQ(change_.until, now_ + rules_.show_limit);
    EXPECT_THAT(done_, ElementsAre("release"));
    happen(Event::kShown);
    EXPECT_EQ(change_.state, State::kIdle);
    EXPECT_FALSE(change_.until);
    EXPECT_THAT(done_, ElementsAre("success(all-1g.5gb) "));
}

TEST_F(MigChanges, TouchNothingWhereAllIsAsAsked) {
    asked("all-1g.5gb");
    planned(Outcome::kReached);
    EXPECT_EQ(change_.state, State::kIdle);
    EXPECT_THAT(done_, ElementsAre("success(all-1g.5gb) "));
}

TEST_F(MigChanges, TellNothingWhenNothingIsAsked) {
    asked("");
    EXPECT_EQ(change_.state, State::kIdle);
    EXPECT_FALSE(change_.until);
    EXPECT_THAT(done_, ElementsAre("() "));
}

TEST_F(MigChanges, AreRefusedWithThePodsThatHoldTheGpus) {
    asked("all-1g.5gb");
    planned(Outcome::kHeld, "GPU 0: is busy", {"a", "b", "c", "d", "e", "f"});
    EXPECT_EQ(change_.state, State::kIdle);
    EXPECT_THAT(done_, ElementsAre("failed(all-1g.5gb) GPU 0: is busy; held by a, b, c, d, e, ...: "
                                   "delete these pods, or let the agent do it by --mig-drain"));
}

TEST_F(MigChanges, ThatNobodyCouldWaitForAreRefusedWhateverTheRules) {
    rules_.drain = Drain::kEvict;
    asked("all-1g.5gb");
    planned(Outcome::kHeld, "MIG mode cannot be turned on");
    EXPECT_THAT(done_, ElementsAre("failed(all-1g.5gb) MIG mode cannot be turned on"));
    asked("all-9g.9gb");
    planned(Outcome::kUnknown, "nobody knows it");
    EXPECT_THAT(done_, ElementsAre("failed(all-9g.9gb) nobody knows it"));
}

TEST_F(MigChanges, ThatFailedAreTriedAgainWithoutNews) {
    asked("all-1g.5gb");
    planned(Outcome::kUnknown, "the driver is away");
    EXPECT_EQ(change_.until, now_ + rules_.retry);
    happen(Event::kDue);
    EXPECT_EQ(change_.state, State::kPlanning);
    EXPECT_EQ(change_.config, "all-1g.5gb");
}

TEST_F(MigChanges, GiveTheGpusBackWhenKubeletKeepsThem) {
    asked("all-1g.5gb");
    planned(Outcome::kFree);
    happen(Event::kDue);
    EXPECT_EQ(change_.state, State::kIdle);
    EXPECT_THAT(done_, ElementsAre("release",
                                   "failed(all-1g.5gb) the device plugin could not take the GPUs "
                                   "back from kubelet"));
}

TEST_F(MigChanges, GiveTheGpusBackWhenTheCutFails) {
    withhold();
    planned(Outcome::kFree);
    cut("GPU 0: create 1g.5gb@0: the driver fails");
    EXPECT_EQ(change_.until, now_ + rules_.retry);
    EXPECT_THAT(done_, ElementsAre("release",
                                   "failed(all-1g.5gb) GPU 0: create 1g.5gb@0: the driver fails"));
}

TEST_F(MigChanges, AreRefusedWhenAPodCameInBetween) {
    withhold();
    planned(Outcome::kHeld, "is busy", {"default/late"});
    EXPECT_THAT(done_, ElementsAre("release", "failed(all-1g.5gb) is busy; held by default/late"));
}

TEST_F(MigChanges, WaitForThePods) {
    rules_.drain = Drain::kWait;
    withhold();
    for (int i = 0; i < 3; ++i) {
        planned(Outcome::kHeld, "is busy", {"default/a"});
        EXPECT_EQ(change_.state, State::kDraining);
        EXPECT_EQ(change_.until, now_ + rules_.drain_look);
        EXPECT_THAT(done_, ElementsAre("pending(all-1g.5gb) waits: is busy; held by default/a"));
        now_ += rules_.drain_look;
        happen(Event::kDue);
        EXPECT_EQ(change_.state, State::kLooking);
        EXPECT_THAT(done_, IsEmpty());
    }
    // Silence is no refusal any more: kubelet may be restarting.
    planned(Outcome::kUnknown, "no kubelet");
    EXPECT_EQ(change_.state, State::kDraining);
    happen(Event::kDue);
    planned(Outcome::kFree);
    EXPECT_EQ(change_.state, State::kCutting);
}

TEST_F(MigChanges, WaitForALimitedTime) {
    rules_.drain = Drain::kWait;
    withhold();
    now_ += rules_.drain_timeout;
    planned(Outcome::kHeld, "is busy", {"default/a"});
    EXPECT_THAT(done_, ElementsAre("release",
                                   "failed(all-1g.5gb) not free within 300 s: is busy; "
                                   "held by default/a"));
}

TEST_F(MigChanges, EvictThePodsAndAskAgain) {
    rules_.drain = Drain::kEvict;
    withhold();
    planned(Outcome::kHeld, "is busy", {"default/a"});
    EXPECT_THAT(done_, ElementsAre("evict default/a", HasSubstr("waits: is busy")));
    happen(Event::kDue);
    planned(Outcome::kHeld, "a process of the host");
    EXPECT_THAT(done_, ElementsAre(HasSubstr("waits: a process of the host")));
}

TEST_F(MigChanges, BeginAnewWhenSomethingElseIsAskedWhileTheyWait) {
    rules_.drain = Drain::kWait;
    withhold();
    planned(Outcome::kHeld, "is busy", {"default/a"});
    const MigChange waiting = change_;
    asked("all-balanced");
    EXPECT_EQ(change_.state, State::kPlanning);
    EXPECT_EQ(change_.config, "all-balanced");
    EXPECT_THAT(done_, ElementsAre("release"));
    change_ = waiting;
    asked("");
    EXPECT_EQ(change_.state, State::kIdle);
    EXPECT_THAT(done_, ElementsAre("release", "() "));
}

}  // namespace
}  // namespace aliquot::agent
