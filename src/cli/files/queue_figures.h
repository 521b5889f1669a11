// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/rows.h"
#include "document/value.h"
#include "replay/figures.h"

namespace aliquot::cli {

/// What came of a trace under one policy.
struct PolicyOutcome {
    std::string policy;
    replay::Figures figures;
    std::vector<double> waits;  // s
};

/// Waits, completions and slowdowns by size of the jobs.
std::vector<Row> size_rows(const std::vector<PolicyOutcome>& outcomes);
/// Use of the GPUs, and how good forecasts were.
std::vector<Row> rows_of_all_sizes(const std::vector<PolicyOutcome>& outcomes);
document::Value outcome_node(const PolicyOutcome& outcome);

}  // namespace aliquot::cli
