// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

/// aliquot pool provider.
void add_pool_provider(command_line::Command& pool, Context& context);

}  // namespace aliquot::cli
