// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

/// aliquot pool spot.
void add_pool_spot(command_line::Command& pool, Context& context);

}  // namespace aliquot::cli
