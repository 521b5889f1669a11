// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "guard_region/status.h"

namespace aliquot::agent {

/// Something that went wrong with limits.
struct GuardEvent {
    enum class Kind : std::uint8_t {
        kUnguarded,     // a process has GPU memory and has not joined
        kOverLimit,     // the container holds more than its limit and slack
        kLedger,        // the container has damaged its ledger
        kKilled,        // a process was ended
        kNotKilled,     // and could not be
        kKernelLimit,   // the driver's kernel module does not take the limit
        kOpen,          // a container was started without limits
        kRefused,       // or not at all
        kOtherVersion,  // its region is not one that this agent reads
    };
    std::chrono::system_clock::time_point at;
    Kind kind = Kind::kUnguarded;
    std::string container;  // "namespace/pod/container", or the region's id
    std::string message;
};

/// "unguarded", "over_limit", "ledger", "killed", "not_killed", "kernel_limit", "open", "refused",
/// "other_version": in
/// the log, the page and, as "GuardOverLimit", in the reason of an Event.
std::string_view to_text(GuardEvent::Kind kind);

/// What there is to tell of all guarded containers.
struct GuardSnapshot {
    std::string library;  // version that new containers get; empty: none
    std::string problem;  // why there is none
    std::vector<guard_region::RegionStatus> regions;
    std::vector<GuardEvent> events;  // the last ones, oldest first
};

}  // namespace aliquot::agent
