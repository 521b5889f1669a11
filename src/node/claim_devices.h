// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "claims/claim.h"
#include "kube_client/api.h"

/// What nodes hand out by ResourceClaims (DRA) instead of extended resources, and who has it.
namespace aliquot::node {

/// What one claim has of a device.
struct ClaimShare {
    std::string claim;  // "ai/train-gpu-x7k2p"
    std::vector<std::string>
        pods;           // "ai/train": those it is reserved for; none: nobody uses it yet
    std::string takes;  // "3Gi, 25 %"; empty: all of the device
    friend bool operator==(const ClaimShare&, const ClaimShare&) = default;
};

/// A GPU, or a part of one, as its driver publishes it.
struct ClaimDevice {
    std::string driver;  // "gpu.aliquot.dev"
    std::string name;    // "gpu-0000-65-00-0"
    // Its attributes; empty: the driver does not say.
    std::string kind;  // "gpu", "share", "mig"
    std::string uuid;
    std::string model;
    std::uint64_t memory_mib = 0;      // its capacity "memory"; 0: not told
    std::uint64_t gpu_memory_mib = 0;  // its attribute "memoryMiB": of a share, of its whole GPU
    bool shared = false;               // several claims may have a part of it
    bool published = true;             // else only claims tell of it any more
    bool tainted = false;              // no claim gets it
    bool fits = true;                  // else what claims hold leaves too little of its counters
    std::vector<ClaimShare> held;      // by name of the claim; what adminAccess sees is not held
    [[nodiscard]] bool usable() const { return published && !tainted; }
    /// False: a MIG device that is made once a claim gets it, one of many that exclude each other.
    [[nodiscard]] bool is_there() const { return kind != "mig" || !uuid.empty() || !held.empty(); }
    friend bool operator==(const ClaimDevice&, const ClaimDevice&) = default;
};

/// By node, each list by driver and name.
using ClaimDevices = std::map<std::string, std::vector<ClaimDevice>>;

/// Whether a driver's devices are GPUs, as far as its name says: "gpu.aliquot.dev", "gpu.nvidia.com".
bool is_gpu_driver(std::string_view driver);

/// Of the newest generation of each pool that belongs to one node, and what claims hold of pools
/// whose slices are gone. Pure.
ClaimDevices claim_devices(const std::vector<claims::Slice>& slices,
                           const std::vector<claims::Claim>& claims);

/// The same of a cluster: lists resourceslices and resourceclaims. One that serves no
/// resource.k8s.io/v1 hands out nothing by claims.
kube_client::Outcome<ClaimDevices> read_claim_devices(kube_client::Api& api,
                                                      const kube_client::Call& call);

}  // namespace aliquot::node
