// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/inventory.h"
#include "grant/limits.h"
#include "grant/mechanism.h"
#include "guard_region/status.h"
#include "os/clock.h"
#include "pods/census.h"

namespace aliquot::telemetry {

/// A GPU or MIG device as it is offered to kubelet.
struct OfferedDevice {
    std::string resource;
    grant::Mechanism mechanism = grant::Mechanism::kNone;
    unsigned replicas = 1;
    grant::Limits limits;               // of each replica
    std::vector<grant::Limits> shares;  // by replica, where they differ
};

/// By uuid ("GPU-...", "MIG-...").
using Offered = std::map<std::string, OfferedDevice, std::less<>>;

/// What is known besides the metrics, at one look.
struct Scene {
    os::TimePoint now;
    const pods::Holders* holders = nullptr;  // may be null
    const Offered* offered = nullptr;
    const std::vector<guard_region::RegionStatus>* regions = nullptr;  // may be null
    std::function<pods::Belonging(std::uint32_t pid)> belonging;
};

/// "GPU-8a6b::3" stands for replica 3 of "GPU-8a6b".
struct DeviceName {
    std::string_view uuid;
    unsigned replica = 0;
};
DeviceName read_device_name(std::string_view id);

}  // namespace aliquot::telemetry
