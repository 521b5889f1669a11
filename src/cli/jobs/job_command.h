// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

/// `aliquot job template`
void add_job_template(command_line::Command& job, Context& context);

}  // namespace aliquot::cli
