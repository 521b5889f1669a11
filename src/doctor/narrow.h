// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "doctor/check.h"

namespace aliquot::doctor {

/// Leaves of the cluster what can be the cause for one pod: its node, or the nodes that could take it
/// (all of them, when none could); what runs on those; objects of its namespace and of the cluster.
/// Other nodes' faults, other pods' events and logs, and objects of other namespaces go.
void narrow_to_pod(Facts& facts, const Object& pod);

}  // namespace aliquot::doctor
