// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <map>

#include "sim/trace/replay.h"

namespace aliquot::sim::trace {

/// Writes what happened in a replay, one line of CSV for each event, in order:
///   event       place, drop, wait, leave or move; a task that was dropped may be placed after moves,
///               one that waits for a better place is placed later or not at all
///   arrival     number of the arrival in whose course it happened, from 1
///   row, task   of the task that arrived (place, drop, wait) or that the placement belongs to
///   placement   its number; empty for drop and wait
///   node        its name; for move the new one
///   devices     "0 3"; empty without GPU
///   mig_start   first memory slice, for MIG instances
/// Two replays of the same input write the same bytes.
class EventLog {
public:
    /// All must outlive the log.
    EventLog(std::ostream& out, const Scenario& scenario, const placement::Engine& engine);

    void write(const Replay::Step& step);

private:
    struct Live {
        std::uint32_t row = 0;
        placement::Placement place;
    };
    void line(const char* event, std::size_t arrival, std::uint32_t row,
              const placement::Placement* place);

    std::ostream& out_;
    const Scenario& scenario_;
    const placement::Engine& engine_;
    std::map<placement::PlacementId, Live> live_;
};

/// A field as CSV writes it: in quotes where it must be.
std::string csv_field(std::string_view text);

}  // namespace aliquot::sim::trace
