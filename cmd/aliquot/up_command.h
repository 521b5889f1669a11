// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace aliquot::up {

/// `aliquot up`
void add_up_command(command_line::Command& program, cli::Context& context);

}  // namespace aliquot::up
