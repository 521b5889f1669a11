// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/trace/churn.h"

namespace aliquot::sim::trace {

/// "load=0.85,lifetime=exp,tasks=60000,seed=1", in any order; what is left out keeps its default.
/// errors   kInvalidInput: the word that is wrong, and what was expected
Result<ChurnOptions> parse_churn(std::string_view text);

/// A line on the scenario, then a table with a line for each outcome and one of sizes.
void print_churn(std::ostream& out, const ChurnOptions& options,
                 std::span<const ChurnOutcome> outcomes);

/// {"runs":[{"policy","offered_percent","carried_percent","sizes":{"8+":{"tasks","refused",...}},
/// "free_nodes_percent","fragmentation_percent","decisions_per_second","worst_step_ms"}]}; one
/// outcome as itself.
std::string churn_json(const ChurnOptions& options, std::span<const ChurnOutcome> outcomes);

/// CSV: policy, time, allocated_percent, free_nodes_percent.
void print_curve(std::ostream& out, std::span<const ChurnOutcome> outcomes);

}  // namespace aliquot::sim::trace
