// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command.h"

namespace aliquot::cli {

/// A file that a command reads: its name for messages ("<stdin>" for "-") and its bytes.
struct Input {
    std::string name;
    std::string text;
};

/// errors   kNotFound, kPermission, kInvalidInput: a directory, or above 4 MiB; the message names
///          the file
Result<Input> read_input(const std::string& file);

void add_config_check(CLI::App& config, Context& context);
void add_config_explain(CLI::App& config, Context& context);

}  // namespace aliquot::cli
