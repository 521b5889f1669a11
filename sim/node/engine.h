// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "sim/node/state.h"

/// Time on a GPU. An engine (the whole GPU, or one compute instance of MIG) runs the work of one
/// process at a time. Processes that have work take turns of one time slice; a process without work
/// is passed over, so the engine rests only when nobody has any. Nothing runs in the background:
/// whoever looks computes what must have happened since the last look. All of it under the node's
/// lock; times are nanoseconds of the monotonic clock.
namespace aliquot::sim {

inline constexpr std::uint64_t kTimeSliceNs = 2'000'000;

/// Brings an engine up to `now_ns`: executed work, marks reached, and how busy each process was.
void advance_engine(State& state, unsigned gpu, const Instance& where, std::uint64_t now_ns);
/// The same for all engines of a GPU that ever had work.
void advance_gpu(State& state, unsigned gpu, std::uint64_t now_ns);

/// Gives `duration_ns` of work of the process at `entry` to its engine, which must be up to date.
/// Returns the position at which it ends.
std::uint64_t submit_work(State& state, unsigned entry, std::uint64_t duration_ns);

/// Asks for the time at which the process's work passes `position_ns`, not yet executed. Returns the
/// number of the mark; empty: too many are kept, advance and collect some first.
std::optional<std::uint64_t> set_mark(State& state, unsigned entry, std::uint64_t position_ns);

/// When the work at `position_ns` ends if nobody adds any; 0: it has.
std::uint64_t predicted_end(const State& state, unsigned entry, std::uint64_t position_ns);

/// The process at `entry` is new or gone: it has no work.
void forget_work(State& state, unsigned entry);

}  // namespace aliquot::sim
