// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "admission/decision.h"
#include "admission/gpu_node.h"
#include "admission/pod_patch.h"

namespace aliquot::admission {

/// The gate that keeps kube-scheduler from a pod before it is placed; as a label of a namespace with the value
/// "enabled" it asks for that.
inline constexpr char kPlacementGate[] = "aliquot.dev/placement";

/// pod   JSON of a Pod. Any bytes: what cannot be read is allowed as it is, with a warning.
Decision decide(std::string_view pod, const Cluster& cluster, const PatchOptions& options);

/// Answers an AdmissionReview (admission.k8s.io/v1). Objects that are no pods, and what is not
/// created, are allowed as they are. Never throws.
/// body      any bytes; above kMostReviewBytes, or nested deeper than 64, is kMalformed
/// cluster   null: not known yet; pods are allowed as they are, with a warning
Review review(std::string_view body, const Cluster* cluster, const PatchOptions& options);

/// Answers an AdmissionReview by putting the gate aliquot.dev/placement on a new pod that asks for a resource
/// that we place. One that has a node or the gate already stays as it is. Never throws.
/// serves   whether this extended resource is ours to place; empty: not known yet, nothing is gated
Review review_gate(std::string_view body, const std::function<bool(const std::string&)>& serves);

/// What an API server asks of the Binding of a pod.
struct BindingQuestion {
    std::string name_space;
    std::string name;
    std::string uid;   // of the pod that is meant; empty: whichever has the name
    std::string node;  // where it is to be
    bool dry_run = false;
};
struct BindingAnswer {
    bool allowed = true;
    std::string message;                             // of a refusal: one line
    std::map<std::string, std::string> annotations;  // for the pod
};

/// Answers an AdmissionReview of pods/binding: the API server writes what the answer adds to the Binding on the pod, in
/// the write that gives it its node. Another object, or a Binding without pod or node, is allowed as it is.
/// Never throws; what `decide` throws is allowed as it is.
Review review_binding(std::string_view body,
                      const std::function<BindingAnswer(const BindingQuestion&)>& decide);

}  // namespace aliquot::admission
