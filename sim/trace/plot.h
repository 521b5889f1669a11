// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "sim/trace/churn.h"
#include "sim/trace/experiment.h"

namespace aliquot::sim::trace {

/// Draws allocation and fragmentation over arrived load as SVG: one line for each outcome, told
/// apart by dash pattern, colour (of a set that colour-blind people can tell apart) and a label with
/// its last value. A close-up of the allocation is added when the load goes beyond 90 %.
void draw_plot(std::ostream& out, std::span<const Outcome> outcomes);

/// Draws what is allocated and how many nodes are wholly free over time, in the same way.
void draw_plot(std::ostream& out, std::span<const ChurnOutcome> outcomes);

}  // namespace aliquot::sim::trace
