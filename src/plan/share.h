// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "plan/steps.h"

// Sizes of shares, and what is said of them. Only for the files of this folder.
namespace aliquot::plan {

inline constexpr std::size_t kFewShares = 8;     // of turns: with more a wait is felt
inline constexpr std::size_t kMostShares = 256;  // of turns: a slot of a table each, and a context
inline constexpr std::size_t kMostMpsClients = 48;

/// Memory of one replica; 2.5 GiB of one whose memory nobody told.
double need_mib(const Workload& workload);

/// Whether a job may wait for its turn; a service may not.
bool can_wait(const Workload& w);

/// "train-0"; the bare name of the only one.
std::string name_of(const Unit& unit);

/// Memory less the reserve.
double usable_mib(const GpuPool& pool);

/// The most that one of so many equal shares can be of what the driver has, a multiple of 64 MiB; a
/// little less than all, since drivers and ECC settings differ in what they keep.
double most_share_mib(const GpuPool& pool, std::size_t shares);

/// One of so many equal shares, a multiple of 64 MiB.
double share_mib(const GpuPool& pool, std::size_t shares);

/// A share and the use of a GPU, with what is the same whatever its size.
Share share_of(const Unit& unit, const Slot& slot, Mode mode);
GpuUse use_of(const Slot& slot, Mode mode);

/// "medium: a fatal fault of one ends all 8 clients".
std::string risk_of(const Share& share, unsigned sharers);

/// Why the shares of a GPU have no limits although limits are kept elsewhere.
/// most, sum   the largest need and all of them together, MiB
void tell_unequal(Plan& plan, const GpuPool& pool, std::size_t shares, double most, double sum);

/// Takes back what was said for limits on shares, when none of them got any.
void forget_limits(Plan& plan);

/// One at a time on this GPU from now on: who had a part of it has all of it in turn.
void make_serial(Plan& plan, GpuUse& use);

/// Says that jobs share although nobody told how busy they are.
void tell_crowded(Plan& plan);

/// What a MIG slice must have for a workload: of a slice as of a GPU, a model takes all but 5 %.
double slice_need_gib(const Workload& workload);

/// GPUs that nothing runs on and that hold a workload, less some that are promised to others.
unsigned free_gpus(const Draft& draft, const Workload& workload, unsigned promised);

/// How many GPUs of the first kind these units would take when they are shared.
/// duty_of   percent of the time that a workload keeps a GPU busy, as far as it counts
unsigned gpus_for(const Draft& draft, const std::vector<std::size_t>& units,
                  const std::function<double(const Workload&)>& duty_of);

}  // namespace aliquot::plan
