// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "cli/command.h"

namespace aliquot::cli {

/// A file that a command reads: its name for messages ("<stdin>" for "-") and its bytes.
struct Input {
    std::string name;
    std::string text;
};

/// most_mib   a larger file is refused
/// errors     kInvalidInput: it cannot be opened, is a directory or too large: the one who named it is to name another;
///            kUnavailable: reading failed. The message names the file
Result<Input> read_input(const std::string& file, std::size_t most_mib = 4);

void add_config_check(command_line::Command& config, Context& context);
void add_config_explain(command_line::Command& config, Context& context);

}  // namespace aliquot::cli
