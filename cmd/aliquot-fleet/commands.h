// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

/// `aliquot sim cluster`.
void add_cluster_command(command_line::Command& program, Context& context);

}  // namespace aliquot::cli
