// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "guard_region/status.h"

namespace aliquot::agent {

/// Something that went wrong with limits.
struct GuardEvent {
    std::chrono::system_clock::time_point at;
    std::string kind;       // "unguarded", "over_limit", "killed", "ledger", "open", "refused"
    std::string container;  // "namespace/pod/container", or the region's id
    std::string message;
};

/// What there is to tell of all guarded containers.
struct GuardSnapshot {
    std::string library;  // version that new containers get; empty: none
    std::string problem;  // why there is none
    std::vector<guard_region::RegionStatus> regions;
    std::vector<GuardEvent> events;  // the last ones, oldest first
};

}  // namespace aliquot::agent
