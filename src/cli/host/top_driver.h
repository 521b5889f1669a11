// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/host/driver_choice.h"
#include "cli/host/top_source.h"

namespace aliquot::cli {

/// A driver asked directly, where no agent runs: figures, processes and the pods of those, but not
/// who holds what. Counters begin with the first poll, which takes a second.
///
/// errors        kNotFound, kUnavailable: no driver there
Result<std::unique_ptr<TopSource>> open_driver_source(const DriverChoice& choice);

/// The address of the agent that `aliquot up --state` runs beside a simulated node; empty: none.
std::string agent_of_node(const std::string& node_state);

}  // namespace aliquot::cli
