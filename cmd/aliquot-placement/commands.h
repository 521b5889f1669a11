// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

// The commands of this program.
void add_explain_command(command_line::Command& program, Context& context);
void add_simulate_command(command_line::Command& program, Context& context);

}  // namespace aliquot::cli
