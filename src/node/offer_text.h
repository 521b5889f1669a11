// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/inventory.h"
#include "sharing/config.h"
#include "sharing/offer.h"

/// What a node's annotations tell of its GPUs, for those who do not ask its agent.
namespace aliquot::node {

/// One GPU of the annotation kGpus.
struct GpuTold {
    unsigned index = 0;
    std::string uuid;
    std::string model;
    std::uint64_t memory_mib = 0;
    bool healthy = true;
    std::string reason;  // also of a GPU that is only degraded
    std::string since;   // RFC 3339; empty: healthy, or not known
    std::string advice;
    bool mig = false;
    std::vector<std::string> mig_devices;  // profiles
    friend bool operator==(const GpuTold&, const GpuTold&) = default;
};
std::vector<GpuTold> gpus_told(const gpu::Inventory& inventory);
std::string to_json(const std::vector<GpuTold>& gpus);
/// Empty: the text is no such annotation.
std::optional<std::vector<GpuTold>> parse_gpus_told(std::string_view json);

/// One resource of the annotation kShares, by kinds of devices: a resource whose devices differ in
/// memory has several rows.
struct ShareTold {
    std::string resource;          // "nvidia.com/gpu"
    std::string mechanism;         // none, time-slicing, mps, mig; memory: limited by the guard
    std::string model;             // of the GPU
    unsigned devices = 0;          // as kubelet counts them
    unsigned per_gpu = 1;          // replicas of one device
    std::uint64_t memory_mib = 0;  // of one; of what is not limited, the whole device
    std::optional<unsigned> compute_percent{};  // of one; empty: not limited
    friend bool operator==(const ShareTold&, const ShareTold&) = default;
};
std::vector<ShareTold> shares_told(const sharing::Offer& offer);
std::string to_json(const std::vector<ShareTold>& shares);
std::optional<std::vector<ShareTold>> parse_shares_told(std::string_view json);

}  // namespace aliquot::node
