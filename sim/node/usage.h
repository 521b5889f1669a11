// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "sim/node/load.h"
#include "sim/node/state.h"

/// Who uses a GPU how much, and what that has added up to. Nothing runs in the background: whoever
/// looks has the time since the last look computed, exactly, however long ago that was. All of it
/// under the node's lock.
namespace aliquot::sim {

/// How often the driver samples how busy a GPU and its processes are: six times a second.
inline constexpr std::uint64_t kSamplingPeriodUs = 166'667;

/// All of something, in thousandths of a percent.
inline constexpr std::uint32_t kWholeMilli = 100'000;

/// The driver's clock: microseconds since the epoch, as it was when the node was made.
std::uint64_t driver_us(const State& state, std::uint64_t monotonic_ns);

/// What runs on one GPU, added up. Processes that together want more than all of the GPU (or of
/// their MIG device) get as much less each.
Load load_on(const State& state, unsigned gpu);

/// How much of its instance the process at `entry` gets, in thousandths of a percent.
std::uint32_t share_of(const State& state, unsigned entry);

/// Brings all that is summed over time up to `now_ns`, and what scripts change up to then. To be
/// called before anything else changes the load.
void settle_gpu(State& state, unsigned gpu, std::uint64_t now_ns);

/// Which sampling period ended last; it ended at that many times kSamplingPeriodUs.
std::uint64_t newest_period(const State& state, unsigned gpu);

/// What the driver sampled in a period, in percent; empty: it does not remember.
std::optional<unsigned> gpu_sample(const State& state, unsigned gpu, std::uint64_t period);
std::optional<unsigned> memory_sample(const State& state, unsigned gpu, std::uint64_t period);

/// How busy a process was on average in the periods after `after`, in percent of the GPU; at most
/// so many as are remembered.
unsigned use_after(const State& state, unsigned entry, std::uint64_t after);

/// The process at `entry` is new: it has used nothing.
void forget_use(State& state, unsigned entry);

}  // namespace aliquot::sim
