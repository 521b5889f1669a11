// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "syntax/block.h"
#include "syntax/command.h"

/// Reads shell texts.
namespace aliquot::syntax {

/// A heredoc, or a quoted argument that holds JSON or YAML.
struct Enclosed {
    int command = -1;  // index into Script::commands
    Setting setting = Setting::kHeredoc;
    std::string text;
    std::size_t offset = 0;  // of its first byte in the block's text
    bool exact = true;       // the text stands there byte by byte
    bool yaml = false;       // it is surely meant to be YAML or JSON
};

struct Script {
    std::vector<Command> commands;
    std::vector<Enclosed> enclosed;
    std::vector<Statement> comments;
};

/// Linear in the text; any bytes. `heading` and `block` are copied into the commands; piped_from and
/// piped_to are indices into Script::commands.
Script read_script(const Block& block, int index);

/// The words of one command line, for inline code.
std::vector<Command> read_command_line(std::string_view line, Mark mark);

}  // namespace aliquot::syntax
