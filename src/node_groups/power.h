// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "node_groups/fleet.h"
#include "node_groups/machines.h"

namespace aliquot::node_groups {

/// Runs the command that a task means: at most power.tries times, each with power.timeout; a program that hangs is
/// killed with all that it started. It gets PATH and HOME of our environment and nothing else.
/// stop     ends it, and the program with it
/// returns  why it failed; empty: it did not
std::string carry_out(const Group& group, const Task& task, const std::stop_token& stop = {});

}  // namespace aliquot::node_groups
