// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"
#include "document/value.h"

namespace aliquot::cli {

/// Prints a mapping as JSON or YAML, with schemaVersion in front.
void print_answer(Context& context, const document::Value& node, std::string_view format);

/// Adds -o text|json|yaml.
void add_format(command_line::Command& command, std::string& format);

void add_size_batch(command_line::Command& size, Context& context);
void add_size_instance(command_line::Command& size, Context& context);
void add_size_measured(command_line::Command& size, Context& context);
void add_size_model(command_line::Command& size, Context& context);
void add_size_node(command_line::Command& size, Context& context);

}  // namespace aliquot::cli
