// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "k8s/node_selector.h"

namespace aliquot::k8s {

/// A PersistentVolumeClaim, as far as it says where its pods may run.
struct VolumeClaim {
    std::string name_space;
    std::string name;
    std::string volume;         // spec.volumeName; empty: not bound
    std::string storage_class;  // empty: none
    std::string selected_node;  // annotation volume.kubernetes.io/selected-node; empty: none
    std::uint64_t bytes = 0;
    std::set<std::string> access_modes;
};

struct PersistentVolume {
    std::string name;
    std::string storage_class;
    std::string claim;  // NAMESPACE/NAME that it is of or reserved for; empty: free
    std::vector<NodeSelectorTerm> nodes;  // one must match; none: everywhere
    std::uint64_t bytes = 0;
    std::set<std::string> access_modes;
    bool is_available = true;  // phase Available, or not told yet
};

struct StorageClass {
    std::string name;
    bool waits_for_pod = false;  // volumeBindingMode WaitForFirstConsumer
    bool makes_none = false;     // provisioner kubernetes.io/no-provisioner
    std::vector<NodeSelectorTerm>
        topologies;  // allowedTopologies: one must match; none: everywhere
};

/// Each reads any bytes and never throws.
/// errors   kInvalidInput: no JSON object with a name
Result<VolumeClaim> parse_volume_claim(std::string_view json);
Result<PersistentVolume> parse_persistent_volume(std::string_view json);
Result<StorageClass> parse_storage_class(std::string_view json);

/// The claims that a pod's volumes name, in its own namespace; those of generic ephemeral volumes among them.
std::vector<std::string> claims_of(const document::Value& pod_spec, const std::string& pod_name);

}  // namespace aliquot::k8s
