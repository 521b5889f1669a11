// SPDX-License-Identifier: Apache-2.0
#include "jobs/state.h"

#include <algorithm>
#include <array>

namespace aliquot::jobs {
namespace {

struct Step {
    State state;
    std::string_view word;
    std::uint16_t next;  // bit of each state that may follow
};

template <class... States>
constexpr std::uint16_t any_of(States... states) {
    return static_cast<std::uint16_t>((0U | ... | (1U << static_cast<unsigned>(states))));
}

constexpr std::uint16_t kEnds =
    any_of(State::kSucceeded, State::kFailed, State::kCancelled, State::kExpired);
constexpr std::uint16_t kGivenUp = any_of(State::kCancelled, State::kExpired, State::kFailed);

constexpr std::array<Step, 14> kSteps{{
    {State::kDraft, "Draft", any_of(State::kQueued, State::kCancelled)},
    {State::kQueued, "Queued",
     any_of(State::kReserving, State::kAdmitted, State::kStarting, State::kSuspended) | kGivenUp},
    {State::kReserving, "Reserving",
     any_of(State::kAdmitted, State::kQueued, State::kRequeued, State::kSuspended) | kGivenUp},
    {State::kAdmitted, "Admitted",
     any_of(State::kProvisioning, State::kStarting, State::kRequeued) | kGivenUp},
    {State::kProvisioning, "Provisioning", any_of(State::kStarting, State::kRequeued) | kGivenUp},
    {State::kStarting, "Starting", any_of(State::kRunning, State::kRequeued) | kEnds},
    {State::kRunning, "Running", any_of(State::kSuspending, State::kRequeued) | kEnds},
    {State::kSuspending, "Suspending", any_of(State::kSuspended, State::kRequeued) | kEnds},
    {State::kSuspended, "Suspended", any_of(State::kQueued, State::kRequeued) | kGivenUp},
    {State::kRequeued, "Requeued",
     any_of(State::kReserving, State::kAdmitted, State::kStarting, State::kSuspended) | kGivenUp},
    {State::kSucceeded, "Succeeded", 0},
    {State::kFailed, "Failed", any_of(State::kRequeued)},
    {State::kCancelled, "Cancelled", any_of(State::kRequeued)},
    {State::kExpired, "Expired", any_of(State::kRequeued)},
}};

const Step& step_of(State state) { return kSteps[static_cast<std::size_t>(state)]; }

}  // namespace

std::string_view word(State state) { return step_of(state).word; }

std::optional<State> state_of(std::string_view word) {
    const auto found = std::find_if(kSteps.begin(), kSteps.end(),
                                    [&](const Step& step) { return step.word == word; });
    return found == kSteps.end() ? std::nullopt : std::optional(found->state);
}

bool is_final(State state) { return state >= State::kSucceeded; }
bool is_waiting(State state) { return state == State::kQueued || state == State::kRequeued; }
bool is_active(State state) { return state >= State::kReserving && state <= State::kSuspending; }

bool may_follow(State from, State to) {
    return (step_of(from).next >> static_cast<unsigned>(to) & 1U) != 0;
}

}  // namespace aliquot::jobs
