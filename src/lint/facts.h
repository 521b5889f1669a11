// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "k8s/taint.h"

namespace aliquot::lint {

/// A node of the cluster, as far as the facts tell.
struct NodeFacts {
    std::string name;
    std::map<std::string, std::string> labels;
    std::vector<k8s::Taint> taints;
    std::map<std::string, double> allocatable;  // in base units: cores, bytes, pieces
    std::string instance_type;                  // label node.kubernetes.io/instance-type
    std::string gpu_product;                    // label nvidia.com/gpu.product: "NVIDIA-A100-..."
    std::optional<double> gpu_memory_mib;       // label nvidia.com/gpu.memory
    std::optional<double> compute_capability;   // 8.6, of nvidia.com/gpu.compute.major/minor
    std::string driver_version;                 // "535.183.01", of the labels
    std::string mig_strategy;
};

/// What is known of the cluster that manifests go to: --facts FILE. Without it (nullptr) rules that
/// need facts are silent. The file is `kubectl get nodes,runtimeclasses,deviceclasses,... -o json`
/// (or yaml): a List of objects; kinds that are not known are passed over.
struct Facts {
    std::vector<NodeFacts> nodes;
    std::set<std::string, std::less<>> runtime_classes;
    std::set<std::string, std::less<>> device_classes;
    std::set<std::string, std::less<>> namespaces;
    std::set<std::string, std::less<>> custom_kinds;  // of CustomResourceDefinitions
    std::map<std::string, std::string> config_maps;   // "namespace/name" of those that exist
    bool autoscaler = false;  // a NodePool, or the cluster-autoscaler's ConfigMap
    /// Every resource name that some node offers.
    [[nodiscard]] std::set<std::string, std::less<>> resources() const;
    /// The sum over all nodes; 0 when none offers it.
    [[nodiscard]] double total(std::string_view resource) const;
};

Result<Facts> read_facts(std::string_view name, std::string_view text);

}  // namespace aliquot::lint
