// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

/// aliquot verify.
void add_verify_command(command_line::Command& program, Context& context);

}  // namespace aliquot::cli
