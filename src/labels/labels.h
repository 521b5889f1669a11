// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/inventory.h"
#include "sharing/config.h"
#include "sharing/offer.h"

/// What a node tells the scheduler and people about its GPUs by labels.
namespace aliquot::labels {

/// Key -> value, as Kubernetes has them.
using Labels = std::map<std::string, std::string>;

/// What labels are made from.
struct NodeFacts {
    const gpu::Inventory& inventory;
    const sharing::Offer& offer;
    sharing::MigStrategy mig_strategy = sharing::MigStrategy::kNone;
    std::string machine;                           // DMI product name; empty: not readable
    std::map<gpu::Uuid, std::uint32_t> pci_class;  // 0x030200, 0x030000; those that sysfs tells
};

/// The labels of NVIDIA's gpu-feature-discovery, without its timestamp. From the same Offer that the
/// device plugin serves, so that gpu.count x gpu.replicas is what kubelet is told.
///
/// A node with several models is labelled by the one that most GPUs have (then the lower index),
/// always the same one. Not told: gpu.clique, vgpu.host-driver-*. Empty without GPUs.
/// source   NVIDIA k8s-device-plugin 0.20, gpu-feature-discovery
Labels feature_labels(const NodeFacts& facts);

/// Labels that people put on GPU nodes by hand.
enum class Profile : std::uint8_t {
    kPresent,      // nvidia.com/gpu.present=true, as NVIDIA's GPU operator
    kAccelerator,  // accelerator=nvidia-gpu
    kModel,        // accelerator=nvidia-tesla-a100
    kResource,     // nvidia.com/gpu=true
    kRole,         // role=gpu
    kType,         // gpu-type=a2, gpu-memory=16gb
};
/// "present", "accelerator", "model", "resource", "role", "type"; empty: another word.
std::optional<Profile> profile_of(std::string_view word);

/// Of the same GPU model as feature_labels(). Empty without GPUs.
Labels profile_labels(Profile profile, const NodeFacts& facts);

/// A label's value in the form that Kubernetes takes: other characters than letters, digits, '-',
/// '_', '.' left out, blanks one '-', at most 63, a letter or digit at both ends.
std::string label_value(std::string_view text);

/// What is to be done to a node that has `present` labels so that it has `wanted` ones.
struct Change {
    Labels set;
    std::vector<std::string> remove;
    /// Somebody else's labels of these keys with other values: they stay as they are.
    std::vector<std::string> foreign;
    std::vector<std::string> ours;  // keys that are ours from then on, sorted
    [[nodiscard]] bool empty() const { return set.empty() && remove.empty(); }
};
/// ours   the keys that we have set before, and nobody else
Change change_labels(const Labels& present, const std::vector<std::string>& ours,
                     const Labels& wanted);

/// The text of a file for NFD's local source: a line each, sorted.
std::string to_feature_file(const Labels& labels);

}  // namespace aliquot::labels
