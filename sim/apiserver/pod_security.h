// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/apiserver/status.h"

namespace aliquot::sim::apiserver {

struct Call;

/// What the Pod Security Standards say against a pod, in their order: "hostPort (container "c" uses
/// hostPort 80)". Empty: nothing.
///
/// level    "baseline" or "restricted", as of Kubernetes 1.36; any other allows all
/// source   kubernetes.io/docs/concepts/security/pod-security-standards; wording as kube-apiserver's
std::vector<std::string> against_standard(std::string_view level, const Value& metadata,
                                          const Value& spec);

/// What the namespace's labels pod-security.kubernetes.io/enforce and warn say of the call's pod, or
/// of the pods that its object will make (these are warned of only). `old` is null for a new one.
/// errors   403, with all violations
Outcome<Done> check_pod_security(Call& call, const Value& object, const Value& old);

/// Labels of a namespace that say nothing.
void validate_pod_security_labels(std::vector<Cause>& causes, const Value& labels);

}  // namespace aliquot::sim::apiserver
