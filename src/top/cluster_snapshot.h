// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "telemetry/snapshot.h"

/// Who uses which GPU, drawn for a person: Snapshots of one or many nodes in, tables and screen
/// lines out. Pure: asks no agent, reads no clock, touches no terminal.
namespace aliquot::top {

/// What this machine knows of one of its processes beyond what agents tell.
struct ProcessFacts {
    std::string user;          // its name; without one the number
    std::string command_line;  // with arguments
};

/// What one node agent has answered.
struct Agent {
    std::string address;                                  // as it was asked for
    std::shared_ptr<const telemetry::Snapshot> snapshot;  // null: it has not answered
    std::string problem;  // why not, or why the snapshot is an old one; empty: all is well
    /// Of an agent of this machine: its processes by their numbers.
    std::map<std::uint32_t, ProcessFacts> processes = {};
};

/// All that is shown at one moment.
struct ClusterSnapshot {
    std::vector<Agent> agents;  // in the order they were asked for
    telemetry::Moment now;
};

}  // namespace aliquot::top
