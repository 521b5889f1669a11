// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

/// aliquot placement defrag: moves of running pods that leave whole GPUs and nodes free.
void add_placement_defrag(command_line::Command& placement, Context& context);

}  // namespace aliquot::cli
