// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "node_groups/fleet.h"
#include "node_groups/machines.h"

namespace aliquot::node_groups {

/// Runs the command that a task means: at most power.tries times, each with power.timeout; a program that hangs is
/// killed with all that it started. It gets PATH and HOME of our environment and nothing else.
/// returns  why it failed; empty: it did not
std::string carry_out(const Group& group, const Task& task);

}  // namespace aliquot::node_groups
