// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "document/value.h"
#include "sim/cluster/workload.h"

namespace aliquot::sim::cluster {

struct ManifestText {
    std::string file;  // as the user named it; "<stdin>"
    std::string text;
};

struct Manifests {
    std::vector<Workload> workloads;  // in the order of the texts
    /// DeviceClasses, ResourceClaims and ResourceClaimTemplates, as they stand there.
    std::vector<document::Value> claim_objects;
    std::vector<Remark> problems;  // any: nothing should be started
    std::vector<Remark> notes;     // what was accepted and has no effect here
};

/// Reads Kubernetes manifests: Pod, Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, DeviceClass,
/// ResourceClaim, ResourceClaimTemplate and List, several documents to a text. What their variables take from ConfigMaps and Secrets is put in. Other
/// kinds and the test hooks of Helm charts get a note. What the API server would refuse is a problem.
/// Never throws.
///
/// has_config   a sharing configuration among them is passed over with a note; else it is a
///              problem: it was meant to be given as such
Manifests read_manifests(std::span<const ManifestText> texts, bool has_config);

}  // namespace aliquot::sim::cluster
