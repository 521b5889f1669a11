// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/claim_devices.h"
#include "node/config_choice.h"
#include "node/node_object.h"
#include "node/offer_text.h"

/// A node as people and commands look at it: what its Node object says of GPUs.
namespace aliquot::node {

/// Resource -> how many, GPU resources only.
using DeviceCounts = std::map<std::string, std::uint64_t>;

struct GpuNode {
    k8s::Node object;
    DeviceCounts capacity;     // as the kubelet counts them
    DeviceCounts allocatable;  // without the unhealthy ones
    // What an agent of ours wrote; empty without one.
    std::string agent;  // its version
    std::vector<GpuStatus> gpus;
    std::vector<ShareStatus> shares;
    std::optional<ConfigStatus> config;
    std::string mig_problem;
    /// What it hands out by ResourceClaims, of any driver of GPUs; by whoever reads the cluster's.
    std::vector<ClaimDevice> claim_devices{};
    /// Labels that the field manager `manager` set by server-side apply (managedFields).
    [[nodiscard]] std::vector<std::string> labels_of(std::string_view manager) const;
    std::map<std::string, std::vector<std::string>> applied_labels;

    [[nodiscard]] const std::string& name() const { return object.name; }
    [[nodiscard]] bool has_gpus() const;
    [[nodiscard]] unsigned unhealthy_gpus() const;
    /// "1x NVIDIA A2, 2x NVIDIA A100-SXM4-80GB"; without an agent by gpu-feature-discovery's labels, or
    /// as a driver of claims publishes them.
    [[nodiscard]] std::string models() const;
    /// Neither a GPU is unhealthy nor a configuration refused; one that waits for pods is well.
    [[nodiscard]] bool is_well() const;
};

/// Reads any bytes; never throws.
/// errors   kInvalidInput: no Node
Result<GpuNode> read_gpu_node(std::string_view json);

/// What one pod holds of a node.
struct Holder {
    /// What it has by a ResourceClaim.
    struct Claimed {
        std::string claim;  // "NAMESPACE/CLAIM"
        std::string driver;
        std::string device;
        std::string takes;  // as in ClaimShare
    };
    std::string pod;  // "NAMESPACE/POD"
    std::string node;
    DeviceCounts devices;
    std::vector<Claimed> claimed{};
};
/// Adds what the pods of a node have by claims to what they hold, new holders behind the others. Pure.
void add_claimed(const GpuNode& node, std::vector<Holder>& holders);
/// Empty optional: it is on no node, has ended, or holds no GPU.
std::optional<Holder> read_holder(std::string_view pod_json);

}  // namespace aliquot::node
