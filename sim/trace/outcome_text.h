// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "sim/trace/experiment.h"

namespace aliquot::sim::trace {

/// {"policy","arrivals","placed","allocation_percent":{"100":n},"fragmentation_percent":{"100":n},
/// "seconds"}, with "migrations", "placed_late" and "gpus_gained" where moves were allowed, "departed" and
/// "peak_allocation_percent" with departures. A load at which nothing arrived has null.
std::string outcome_json(const Outcome& outcome);

/// One outcome as itself, several as {"runs":[...]}.
std::string outcomes_json(std::span<const Outcome> outcomes);

/// A line on the scenario, then a table with a line for each outcome.
void print_outcomes(std::ostream& out, const Scenario& scenario, std::span<const Outcome> outcomes);

/// CSV: policy, load_percent, allocation_percent, fragmentation_percent.
void print_curve(std::ostream& out, std::span<const Outcome> outcomes);

}  // namespace aliquot::sim::trace
