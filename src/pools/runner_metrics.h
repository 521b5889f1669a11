// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/result.h"
#include "document/build.h"
#include "pools/pool.h"
#include "pools/runner.h"

namespace aliquot::pools {

/// A PrometheusRule: how long jobs of a workflow wait and run, and what the machines under them cost, by the listener's
/// metrics. A job's hour costs its part of a node's: that of its devices.
/// usd_per_hour   of one node; empty: the list price of the pool's first instance
/// errors   kInvalidInput: no price is known
Result<document::Value> runner_rules(const Pool& pool, const RunnerOptions& options,
                                     std::optional<double> usd_per_hour);

}  // namespace aliquot::pools
