// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/inventory.h"
#include "grant/mechanism.h"
#include "sharing/config.h"
#include "sharing/offer.h"

/// What a node's annotations tell of its GPUs, for those who do not ask its agent.
namespace aliquot::node {

/// One GPU of the annotation kGpus.
struct GpuStatus {
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
    /// Resource -> units of it that kubelet is told of, MIG devices among them; by whoever fills it.
    std::map<std::string, unsigned> offers{};
    friend bool operator==(const GpuStatus&, const GpuStatus&) = default;
};
std::vector<GpuStatus> gpu_statuses(const gpu::Inventory& inventory);

/// By uuid of the GPU: resource -> units that are offered of it.
using GpuOffers = std::map<std::string, std::map<std::string, unsigned>>;
GpuOffers gpu_offers(const sharing::Offer& offer);
std::string to_json(const std::vector<GpuStatus>& gpus);
/// Empty: the text is no such annotation.
std::optional<std::vector<GpuStatus>> parse_gpu_statuses(std::string_view json);

/// One resource of the annotation kShares, by kinds of devices: a resource whose devices differ in
/// memory has several rows.
struct ShareStatus {
    std::string resource;  // "nvidia.com/gpu"
    grant::Mechanism mechanism = grant::Mechanism::kNone;
    std::string model;                          // of the GPU
    unsigned devices = 0;                       // as kubelet counts them
    unsigned per_gpu = 1;                       // replicas of one device
    std::uint64_t memory_mib = 0;               // of one; of what is not limited, the whole device
    std::optional<unsigned> compute_percent{};  // of one; empty: not limited
    friend bool operator==(const ShareStatus&, const ShareStatus&) = default;
};
std::vector<ShareStatus> share_statuses(const sharing::Offer& offer);
std::string to_json(const std::vector<ShareStatus>& shares);
std::optional<std::vector<ShareStatus>> parse_share_statuses(std::string_view json);

}  // namespace aliquot::node
