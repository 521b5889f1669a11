// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <vector>

#include "sim/trace/load_curve.h"
#include "sim/trace/replay.h"

namespace aliquot::sim::trace {

struct ExperimentOptions {
    ReplayOptions replay;
    std::vector<std::int64_t> at{100, 130};  // loads in percent at which values are wanted
    bool whole_curve = false;                // fragmentation at every load, not only at those
    std::ostream* log = nullptr;             // one line of CSV for each thing that happens
    /// Called now and then while it runs, at least once each 256 arrivals.
    std::function<void(std::size_t done, std::size_t all)> progress;
};

/// What came of a replay.
struct Outcome {
    placement::Policy policy = placement::Policy::kAliquot;
    std::size_t arrivals = 0;
    std::int64_t placed = 0;
    std::vector<std::pair<std::int64_t, std::optional<LoadCurve::Point>>> at;  // as asked
    std::vector<LoadCurve::Point> curve;  // fragmentation only with whole_curve
    std::int64_t capacity_milli = 0;
    std::int64_t arrived_milli = 0;           // when all had come
    std::int64_t free_milli = 0;              // when all was decided
    std::int64_t peak_milli = 0;              // most that was allocated at one time
    std::optional<std::uint32_t> migrations;  // only where they were allowed
    std::int64_t gained_milli = 0;            // placed only thanks to them
    std::optional<std::int64_t> waited;       // tasks that waited for a better place; with patience
    std::int64_t placed_late = 0;             // tasks that had waited or been refused first
    std::optional<std::int64_t> departed;     // only with departures
    double seconds = 0;  // of the decisions alone, without the keeping of statistics
};

/// Replays a scenario to its end and keeps the statistics of the published experiment.
/// errors   as Replay; kUnavailable: the log cannot be written
Result<Outcome> run_experiment(const Scenario& scenario, const ExperimentOptions& options);

}  // namespace aliquot::sim::trace
