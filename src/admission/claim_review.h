// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "admission/decision.h"

namespace aliquot::admission {

/// Answers an AdmissionReview by naming, in a new pod with the annotation kClaimAnnotation, a ResourceClaim that does not
/// exist yet: kube-scheduler holds the pod until somebody makes it. A pod that has a claim by that name, or a node, stays
/// as it is; one whose request is wrong is refused. Never throws.
/// new_name   "aq-" and 16 letters or digits that nobody can guess
Review review_claim(std::string_view body, const std::function<std::string()>& new_name);

/// Such a name.
std::string random_claim_name();

}  // namespace aliquot::admission
