// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class FormatterBase;
class Option;
}  // namespace CLI

namespace aliquot::command_line {

/// How --help looks: what the command does, examples, then usage, arguments and options. The
/// examples are the footer of the CLI11 command, one per line.
std::shared_ptr<CLI::FormatterBase> make_help();

/// "PERCENT (default 30)", "FORMAT (table, json, yaml)", "DIR": what the help shows for an option's value; empty for a
/// flag.
std::string value_of(const CLI::Option& option);

/// " [OPTIONS] FILE [FILE...]": what follows the command's name, positional arguments in square brackets where
/// they can be left out.
std::string usage_of(const CLI::App& command);

/// The beginning of a description that fits into a list of commands: up to the first ": ", ". " or
/// line break.
std::string summary_of(std::string_view description);

}  // namespace aliquot::command_line
