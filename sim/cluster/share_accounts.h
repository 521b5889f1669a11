// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpu/inventory.h"
#include "sharing/offer.h"
#include "sim/cluster/scheduler.h"

namespace aliquot::sim::cluster {

/// resource name -> device ids
using HeldDevices = std::map<std::string, std::vector<std::string>>;

/// What a pod's devices are, in words.
struct DeviceWords {
    std::vector<std::string> gpus;  // uuids, by index, each once
    std::string gpu;                // "0 NVIDIA A2", "0, 1 NVIDIA A100-SXM4-40GB"; "-": none
    std::string share;              // "1 of 2, 7Gi", "whole", "2 GPUs"; "-": none
};
/// "0 NVIDIA A2", "0, 1 NVIDIA A2" of GPUs and MIG devices by their uuids.
std::string gpu_text(const std::vector<std::string>& uuids, const gpu::Inventory& inventory);

DeviceWords describe_devices(const HeldDevices& devices, const sharing::Offer& offer);

/// How many devices are made of one GPU.
unsigned shares_of(const gpu::Uuid& gpu, const sharing::Offer& offer);

/// How many of them are held. used   by uuid of GPU or MIG device
unsigned shares_used(const gpu::Gpu& gpu, const std::map<std::string, unsigned>& used);

/// The labels of this node: what gpu-feature-discovery, its operator and kubelet would set.
/// source   gpu-feature-discovery: product with blanks as '-', "-SHARED" when shared and not
/// renamed
Labels node_labels(const gpu::Inventory& inventory, const sharing::Offer& offer,
                   const std::string& node_name);

}  // namespace aliquot::sim::cluster
