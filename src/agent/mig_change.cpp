// SPDX-License-Identifier: Apache-2.0
#include "agent/mig_change.h"

#include <algorithm>
#include <utility>

namespace aliquot::agent {
namespace {

using Drain = ClusterOptions::Drain;
using State = MigChange::State;
using Status = node::MigStatus::State;

constexpr std::size_t kMostNamed = 5;

std::string named(const std::vector<std::string>& pods) {
    std::string text;
    for (std::size_t i = 0; i < pods.size(); ++i) {
        if (i == kMostNamed) return text + ", ...";
        text += (i == 0 ? "" : ", ") + pods[i];
    }
    return text;
}

/// "GPU 0: 3g.20gb@0 is busy; held by default/trainer".
std::string why_not(const MigPlan& plan) {
    return plan.pods.empty() ? plan.why : plan.why + "; held by " + named(plan.pods);
}

/// Makes one step: what happens in each state has a function of its own.
class Stepper {
public:
    Stepper(MigChange change, const MigRules& rules, os::TimePoint now)
        : rules_(rules), now_(now), step_{.change = std::move(change), .actions = {}} {}

    MigStep take(const MigEvent& event) && {
        switch (step_.change.state) {
            case State::kIdle:
                idle(event);
                break;
            case State::kPlanning:
                planned(event.plan);
                break;
            case State::kWithholding:
                withheld(event.kind == MigEvent::Kind::kWithheld);
                break;
            case State::kLooking:
                looked(event.plan);
                break;
            case State::kDraining:
                if (event.kind == MigEvent::Kind::kDue) go(State::kLooking);
                if (event.kind == MigEvent::Kind::kAsked) {
                    release();
                    idle(event);
                }
                break;
            case State::kCutting:
                cut(event.problem);
                break;
            case State::kShowing:  // kDue: they will be, the GPUs are cut
                succeed();
                break;
        }
        return std::move(step_);
    }

private:
    void idle(const MigEvent& event) {
        if (event.kind == MigEvent::Kind::kAsked) step_.change.config = event.config;
        if (!step_.change.config.empty()) return go(State::kPlanning);
        tell(Status::kNone);
        go(State::kIdle);
    }

    void planned(const MigPlan& plan) {
        if (plan.outcome == MigPlan::Outcome::kReached) return succeed();
        if (plan.outcome == MigPlan::Outcome::kUnknown) return fail(plan.why);
        const bool held = plan.outcome == MigPlan::Outcome::kHeld;
        if (held && plan.pods.empty()) return fail(plan.why);
        if (held && rules_.drain == Drain::kRefuse) {
            return fail(why_not(plan) +
                        ": delete these pods, or let the agent do it by --mig-drain");
        }
        tell(Status::kPending, "GPUs are being cut");
        step_.actions.push_back(
            {.kind = MigAction::Kind::kWithhold, .status = {}, .gpus = plan.gpus, .pods = {}});
        go(State::kWithholding, rules_.withhold_limit);
    }

    void withheld(bool done) {
        if (!done) return fail("the device plugin could not take the GPUs back from kubelet");
        step_.change.drain_end = now_ + rules_.drain_timeout;
        go(State::kLooking);
    }

    void looked(const MigPlan& plan) {
        const bool in_the_way =
            plan.outcome == MigPlan::Outcome::kHeld || plan.outcome == MigPlan::Outcome::kUnknown;
        if (!in_the_way) return go(State::kCutting);
        const std::string why = why_not(plan);
        if (plan.outcome == MigPlan::Outcome::kHeld) {
            if (rules_.drain == Drain::kRefuse) return fail(why);
            if (rules_.drain == Drain::kEvict && !plan.pods.empty()) {
                step_.actions.push_back(
                    {.kind = MigAction::Kind::kEvict, .status = {}, .gpus = {}, .pods = plan.pods});
            }
        }
        if (now_ >= step_.change.drain_end) {
            using std::chrono::seconds;
            const auto limit = std::chrono::duration_cast<seconds>(rules_.drain_timeout).count();
            return fail("not free within " + std::to_string(limit) + " s: " + why);
        }
        tell(Status::kPending, "waits: " + why);
        go(State::kDraining, std::min(rules_.drain_look, rules_.drain_timeout));
    }

    void cut(const std::string& problem) {
        if (!problem.empty()) return fail(problem);
        release();
        go(State::kShowing, rules_.show_limit);
    }

    void succeed() {
        tell(Status::kSuccess);
        go(State::kIdle);
    }

    void fail(std::string why) {
        if (step_.change.state != State::kPlanning) release();
        tell(Status::kFailed, std::move(why));
        go(State::kIdle, rules_.retry);
    }

    void tell(Status status, std::string problem = {}) {
        step_.actions.push_back(
            {.kind = MigAction::Kind::kTell,
             .status = {.state = status,
                        .config = status == Status::kNone ? "" : step_.change.config,
                        .problem = std::move(problem)},
             .gpus = {},
             .pods = {}});
    }

    void release() {
        step_.actions.push_back(
            {.kind = MigAction::Kind::kRelease, .status = {}, .gpus = {}, .pods = {}});
    }

    void go(State state, std::optional<std::chrono::milliseconds> limit = {}) {
        step_.change.state = state;
        step_.change.until.reset();
        if (limit) step_.change.until = now_ + *limit;
    }

    const MigRules& rules_;
    os::TimePoint now_;
    MigStep step_;
};

}  // namespace

MigStep next_step(MigChange change, const MigEvent& event, const MigRules& rules,
                  os::TimePoint now) {
    return Stepper(std::move(change), rules, now).take(event);
}

}  // namespace aliquot::agent
