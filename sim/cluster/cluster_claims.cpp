// SPDX-License-Identifier: Apache-2.0
//
// What the pods of a cluster have by claims: given before they start, taken back when they have ended.
#include "sim/cluster/cluster.h"

namespace aliquot::sim::cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kClaimRetry = 200ms;

}  // namespace

/// False: not now, and the pod says why.
bool Cluster::give_claims(Pod& pod, TimePoint now) {
    if (!claims_ || !claims_->uses_claims(pod.workload->pod)) return true;
    auto given = claims_->give(kubelet_, pod.identity, pod.workload->pod);
    if (given) {
        pod.claimed = *std::move(given);
        pod.identity.uid = pod.claimed.pod_uid;
        // MIG devices may have been made for it.
        if (auto inventory = host_.look()) inventory_ = *std::move(inventory);
        return true;
    }
    pod.blocked = true;
    pod.reason = given.error().message;
    pod.not_before = now + kClaimRetry;
    return false;
}

void Cluster::take_devices(Pod& pod) {
    kubelet_.remove(pod.identity.uid);
    pod.devices.clear();
    if (pod.claimed.pod_uid.empty()) return;
    claims_->take_back(kubelet_, pod.identity);
    pod.claimed.names.clear();
}

}  // namespace aliquot::sim::cluster
