// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/fit.h"

/// The causes why a pod is Pending, each by itself: empty id where it is none. `nodes`: of fit().
namespace aliquot::doctor {

/// "Pod NS/NAME: MESSAGE", failed.
PendingCause pending_cause(std::string id, const Object& pod, std::string message);
Evidence of_pod(const Object& pod, std::string value, std::string expected = {});
/// What the cluster said of the pod with any of these parts, letters in any case; nullptr: nothing.
const Said* said_of(const Facts& facts, const Object& pod,
                    std::initializer_list<std::string_view> parts);

/// A claim of a volume that is not there or not bound (SCH010).
PendingCause why_claim_of_volume(const Facts& facts, const Object& pod);
/// The scheduler refused by a volume's zone, a port or a rule for neighbours a node that has the GPUs
/// (SCH010).
PendingCause why_refused_by_rule(const Facts& facts, const Object& pod);
/// No node that could take it offers what it asks for (SCH002, SCH003, SCH015); the node's own check where
/// a node should offer it.
PendingCause why_unknown_name(const Facts& facts, const Object& pod,
                              const std::vector<NodeFit>& nodes);
/// More GPUs than a node has (SCH005); the node's own check where some are ill.
PendingCause why_too_many(const Object& pod, const std::vector<NodeFit>& nodes);

}  // namespace aliquot::doctor
