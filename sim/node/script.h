// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/node/state.h"

namespace aliquot::sim {

/// What a process does from a moment of its script on.
struct LoadPhase {
    std::chrono::milliseconds at{0};  // since the script began
    unsigned sm_percent = 0;          // 0 to 100, of its instance where it runs on one
    std::uint64_t memory_bytes = 0;   // 0: as before
};

/// What a simulated process does over time. The last phase lasts.
struct LoadScript {
    std::vector<LoadPhase> phases;  // 1 to kMaxPhases, by time; the first is at 0 and has memory
    std::chrono::milliseconds period{0};  // begins anew after so long; 0: never
};

/// Reads "0s:80%:2Gi,10s:0%,12.5s:40%:1Gi,20s:again": phases with commas or on lines of their own
/// (then "#" begins a comment), each of them its time, how busy, and the memory from then on where
/// that changes. "again" at the end begins it anew.
/// errors   kInvalidInput: not of that form, out of order, too many phases
Result<LoadScript> parse_load_script(std::string_view text);

/// errors   kInvalidInput: what parse_load_script would refuse
Result<Done> check(const LoadScript& script);

// Under the node's lock.

/// From now on the process at `entry` does as `script` says, which is checked.
void begin_script(State& state, unsigned entry, const LoadScript& script, std::uint64_t now_ns);

/// Sets what the script of an entry says for `now_ns`; an entry without one keeps what it has. Of
/// memory it gets what is free.
void follow_script(State& state, unsigned entry, std::uint64_t now_ns);

/// When the script of an entry next says something else; the end of time: never.
std::uint64_t next_change(const State& state, unsigned entry, std::uint64_t now_ns);

}  // namespace aliquot::sim
