// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cli/command.h"

/// `aliquot simulate` and `aliquot explain` are the program aliquot-placement, which lies beside this one: who
/// shares GPUs does not need what replays traces.
namespace aliquot {

/// Becomes that program when these words are for it. Returns when they are not (nothing), or when it could not:
/// the exit code, after one line to standard error.
std::optional<int> hand_over(int argc, char** argv);

// The two for help and completion.
void list_simulate_command(command_line::Command& program, cli::Context& context);
void list_explain_command(command_line::Command& program, cli::Context& context);

}  // namespace aliquot
