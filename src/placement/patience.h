// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "placement/engine.h"

namespace aliquot::placement {

/// Percent of the cluster's GPU compute that must be given out before anybody waits for a better place.
inline constexpr std::int64_t kPatientFromPercent = 89;

/// Whether a request that fits had better wait a while: the cluster is nearly full, GPUs rather than CPU are what
/// will run out, and its best place would leave a part of a GPU that is expected to stay free for good. Later a
/// place like that is still there, or it went to a task that leaves nothing behind. How long to wait is the
/// caller's choice.
/// Only shares of one GPU wait, and only by a policy that tells its waste (Breakdown::waste): Policy::kAliquot.
/// Changes nothing. false also for a request that fits nowhere or is wrong.
bool had_better_wait(Engine& engine, const Request& request);

}  // namespace aliquot::placement
