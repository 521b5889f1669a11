// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cli/command.h"

/// `aliquot simulate` and `aliquot explain placement` are the program aliquot-placement, `aliquot sim cluster` is
/// aliquot-fleet, which lie beside this one: who shares GPUs needs neither.
namespace aliquot {

/// Becomes that program when these words are for it. Returns when they are not (nothing), or when it could not:
/// the exit code, after one line to standard error.
std::optional<int> hand_over(int argc, char** argv);

// The two for help and completion.
void list_simulate_command(command_line::Command& program, cli::Context& context);
void list_explain_command(command_line::Command& program, cli::Context& context);

}  // namespace aliquot
