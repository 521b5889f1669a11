// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "doctor/fit.h"

namespace aliquot::doctor {

/// The first claim of a waiting pod that has no device, and what is in the way: it is not there, its class
/// is not there, nobody publishes a device, or on each node for each device what was not met. Empty id:
/// every claim has its devices, or the scheduler could give them now.
PendingCause why_unallocated(const Facts& facts, const Object& pod);

/// Whether GPUs come by ResourceClaims: fine, unless the pod that is asked about wants them as an extended resource.
/// None: no driver offers any.
std::optional<Verdict> offered_by_claims(const Facts& facts);

}  // namespace aliquot::doctor
