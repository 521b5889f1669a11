// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/gpu_models.h"
#include "k8s/label_selector.h"

/// Pods that say what they need of a GPU, and what becomes of that. Pure: nothing here asks anybody.
namespace aliquot::admission {

using k8s::Labels;
using k8s::Requirement;

/// One extended resource of a node: what one unit of it is, at least.
struct Share {
    std::string resource;          // "nvidia.com/gpu"
    unsigned devices = 0;          // units that the node has, given away or not
    unsigned per_gpu = 1;          // units of one GPU or MIG device; 1: not shared
    bool mig = false;              // a MIG device, or a share of one
    bool is_limited = false;       // memory is kept by somebody; else it is an even part
    unsigned memory_mib = 0;       // of one unit; 0: not known
    unsigned compute_percent = 0;  // of a GPU; 0: not known

    [[nodiscard]] bool is_whole() const { return per_gpu <= 1 && !mig; }
    friend bool operator==(const Share&, const Share&) = default;
};

/// What there is to know of a node that has GPUs.
struct GpuNode {
    std::string name;
    Labels labels;
    std::string product;  // label nvidia.com/gpu.product without -SHARED and -MIG-...
    const catalog::GpuModel* model = nullptr;  // of that; null: not in our catalogue
    std::vector<Share> shares;                 // by resource; never two of one
    /// Equal for nodes that have the same shares and the same labels of those below, but the host
    /// name: one of them stands for all. (Their number is small, that of the nodes is not.)
    std::uint64_t kind = 0;
    friend bool operator==(const GpuNode&, const GpuNode&) = default;
};

/// The nodes of a cluster that have GPUs. Immutable; what a review needs to know.
using Cluster = std::vector<std::shared_ptr<const GpuNode>>;

/// Reads a Node object. What it offers stands in the annotation aliquot.dev/shares, as our agent
/// writes it; without one it follows from the labels of NVIDIA's gpu-feature-discovery and
/// status.allocatable, as far as they tell. A resource whose units differ counts as its smallest.
///
/// Empty: no Node, or one that offers no GPU.
std::optional<GpuNode> read_node(std::string_view json);

inline constexpr char kProductLabel[] = "nvidia.com/gpu.product";
inline constexpr char kMemoryLabel[] = "nvidia.com/gpu.memory";
inline constexpr char kReplicasLabel[] = "nvidia.com/gpu.replicas";
inline constexpr char kHostnameLabel[] = "kubernetes.io/hostname";

/// A product as labels have it, without "-SHARED" and "-MIG-1g.5gb" at its end.
std::string_view plain_product(std::string_view label);

}  // namespace aliquot::admission
