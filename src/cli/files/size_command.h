// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace aliquot::cli {

void add_size_batch(command_line::Command& size, Context& context);
void add_size_instance(command_line::Command& size, Context& context);
void add_size_measured(command_line::Command& size, Context& context);
void add_size_model(command_line::Command& size, Context& context);
void add_size_node(command_line::Command& size, Context& context);

}  // namespace aliquot::cli
