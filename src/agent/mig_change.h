// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/cluster_options.h"
#include "gpu/inventory.h"
#include "node/health.h"
#include "os/clock.h"

/// The states of a change of MIG by label, and what leads from one to the next. Pure: MigRequests
/// does what a state says, tells how that ended, and carries out the actions of the answer.
///
///   idle -> planning -> withholding -> looking -> cutting -> showing -> idle
///                                       ^   |
///                                     draining
namespace aliquot::agent {

struct MigChange {
    enum class State : std::uint8_t {
        kIdle,         // wait for news of the label, or until `until`: kAsked, kDue
        kPlanning,     // find out what would change, and who is in the way: kPlanned
        kWithholding,  // wait until kubelet gives the GPUs to nobody: kWithheld, kDue
        kLooking,      // as kPlanning: kPlanned
        kDraining,     // wait as in kIdle, for those who hold the GPUs to go: kAsked, kDue
        kCutting,      // cut the GPUs: kCut
        kShowing,      // wait until the new devices are offered: kShown, kDue
    };
    State state = State::kIdle;
    std::string config;                  // as asked; empty: nothing is
    std::optional<os::TimePoint> until;  // of the state's wait; empty: for ever
    os::TimePoint drain_end{};           // of all kLooking and kDraining together
};

/// What a dry run has found.
struct MigPlan {
    enum class Outcome : std::uint8_t {
        kReached,  // nothing would change
        kFree,     // nothing is in the way
        kHeld,     // a pod or a process is
        kUnknown,  // the driver, kubelet or the label's configuration does not tell
    };
    Outcome outcome = Outcome::kReached;
    std::string why;                // kHeld, kUnknown: one line
    std::vector<std::string> pods;  // kHeld: "default/trainer"; none: it is a process
    std::set<gpu::Uuid> gpus;       // that would change
};

struct MigEvent {
    enum class Kind : std::uint8_t { kAsked, kDue, kPlanned, kWithheld, kCut, kShown };
    Kind kind = Kind::kDue;
    std::string config;   // kAsked; empty: nothing is asked any more
    MigPlan plan;         // kPlanned
    std::string problem;  // kCut: why the GPUs are not cut as asked; empty: they are
};

struct MigAction {
    enum class Kind : std::uint8_t {
        kTell,      // the Node: `status`
        kWithhold,  // from now on nobody shall get `gpus`
        kRelease,   // look at the GPUs anew and offer them all
        kEvict,     // ask for `pods` to be evicted
    };
    Kind kind = Kind::kTell;
    node::MigStatus status;
    std::set<gpu::Uuid> gpus;
    std::vector<std::string> pods;
};

struct MigRules {
    ClusterOptions::Drain drain = ClusterOptions::Drain::kRefuse;
    std::chrono::milliseconds drain_timeout{300'000};
    std::chrono::milliseconds drain_look{3000};  // kubelet tells nobody when a pod ends
    std::chrono::milliseconds retry{60'000};     // of what failed
    std::chrono::milliseconds withhold_limit{10'000};
    std::chrono::milliseconds show_limit{10'000};
};

struct MigStep {
    MigChange change;
    std::vector<MigAction> actions;  // in this order, before what change.state says
};

/// now   when the event happened
MigStep next_step(MigChange change, const MigEvent& event, const MigRules& rules,
                  os::TimePoint now);

}  // namespace aliquot::agent
