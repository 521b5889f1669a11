// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/claim_request.h"
#include "claims/claim.h"
#include "scheduling/gpu_pod.h"

namespace aliquot::pins {

/// A pod for which the webhook has named a claim.
struct PinnedPod {
    scheduling::GpuPod pod;
    std::string claim;  // name of the ResourceClaim, in the pod's namespace
    admission::ClaimRequest request;
};
/// Any bytes. Empty: no such pod; also one whose claim has another kind of name, or whose request cannot be read.
std::optional<PinnedPod> read_pinned_pod(std::string_view json);

/// A ResourceClaim of the cluster, and what we have noted on it if it is ours.
struct KnownClaim {
    claims::Claim claim;
    std::string resource_version;
    std::string created;  // RFC 3339
    std::string owner;    // uid of the pod that it was made for; empty: nobody
    unsigned tries =
        0;  // how often a GPU was chosen for its pod, this time counted; 0: it is none of ours
    std::vector<std::string>
        gpus;  // uuids; of MIG devices of their GPUs; none: kube-scheduler takes any
};
/// Any bytes. errors   kInvalidInput: no JSON
Result<KnownClaim> read_known_claim(std::string_view json);

/// The claim that is made for a pod.
/// tries      as in KnownClaim
/// gpus       uuids; none: any that fit, so that kube-scheduler and an autoscaler can act
/// consumes   the sizes are taken of a GPU that claims share; else a device that has at least so much is asked for
std::string claim_object(const PinnedPod& pod, unsigned tries, const std::vector<std::string>& gpus,
                         bool consumes);

/// Whether a uuid may stand in an expression: letters, digits and '-'.
bool is_plain_uuid(std::string_view uuid);

}  // namespace aliquot::pins
