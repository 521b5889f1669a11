// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

/// aliquot explain pod: where a pod went and why, or why it waits.
void add_explain_pod(command_line::Command& explain, Context& context);

}  // namespace aliquot::cli
