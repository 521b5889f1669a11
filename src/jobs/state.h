// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace aliquot::jobs {

/// Where a job stands. A place that has no such step passes over it.
enum class State : std::uint8_t {
    kDraft,         // not handed in yet
    kQueued,        // waits for its turn
    kReserving,     // devices are kept for it
    kAdmitted,      // it may use them
    kProvisioning,  // a node is being made
    kStarting,      // its program is being started
    kRunning,
    kSuspending,  // is being stopped, to go on later
    kSuspended,   // keeps no devices, and waits until somebody says that it goes on
    kRequeued,    // waits again after a try
    kSucceeded,
    kFailed,
    kCancelled,
    kExpired,  // its deadline passed
};

inline constexpr std::array kStates{
    State::kDraft,     State::kQueued,  State::kReserving,  State::kAdmitted,  State::kProvisioning,
    State::kStarting,  State::kRunning, State::kSuspending, State::kSuspended, State::kRequeued,
    State::kSucceeded, State::kFailed,  State::kCancelled,  State::kExpired};

/// "Queued"
std::string_view word(State state);
std::optional<State> state_of(std::string_view word);

/// Nothing follows, but that somebody asks for another try.
bool is_final(State state);
/// It waits for its turn.
bool is_waiting(State state);
/// It may have a process.
bool is_active(State state);

/// Whether a job may go from one to the other.
bool may_follow(State from, State to);

}  // namespace aliquot::jobs
