// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace aliquot::up {

/// `aliquot up`
void add_up_command(CLI::App& program, cli::Context& context);

}  // namespace aliquot::up
