// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "grant/limits.h"

namespace aliquot::grant {

/// What a container gets for the devices that were chosen for it: the answer to kubelet's Allocate,
/// and what later parts of the agent (guard, MPS) need to know about the same decision.
struct Grant {
    struct Mount {
        std::string container_path;
        std::string host_path;
        bool read_only = true;
        friend bool operator==(const Mount&, const Mount&) = default;
    };
    struct DeviceNode {
        std::string container_path;
        std::string host_path;
        std::string permissions = "rw";
        friend bool operator==(const DeviceNode&, const DeviceNode&) = default;
    };
    /// The part of one GPU that was granted. Carried so that limits can be enforced; not on the
    /// wire.
    struct Share {
        std::string gpu_uuid;   // or the MIG device's
        unsigned replicas = 1;  // how many of that GPU's replicas
        Limits limits;          // of all of them together
        bool guarded = false;   // there are limits, and the guard is to keep them (not MPS)
        friend bool operator==(const Share&, const Share&) = default;
    };

    std::map<std::string, std::string> environment;
    std::vector<Mount> mounts;
    std::vector<DeviceNode> device_nodes;
    std::map<std::string, std::string> annotations;
    std::vector<std::string> cdi_devices;  // "vendor/class=name"
    std::vector<Share> shares;             // by GPU or MIG device, each once

    friend bool operator==(const Grant&, const Grant&) = default;
};

/// One device of a resource, as it is offered.
struct Device {
    std::string id;  // "GPU-8a6b...", "MIG-17c4...", "GPU-8a6b...::2"; at most 63 characters
    bool healthy = true;
    std::optional<unsigned> numa_node;  // empty: no affinity
    friend bool operator==(const Device&, const Device&) = default;
};

}  // namespace aliquot::grant
