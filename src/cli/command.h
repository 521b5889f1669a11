// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/colour.h"

namespace aliquot::command_line {
class Command;
}

/// The command line of `aliquot`: one file per command, an explicit list of them in cmd/aliquot.
namespace aliquot::cli {

/// Exit codes of every program of ours.
enum ExitCode : int {
    kOk = 0,
    kFindings = 1,     // findings, or a check or job that failed
    kUsage = 2,        // usage error, or an input file that cannot be read as such
    kCouldNotRun = 3,  // the machine, the node or the cluster did not let us
};

/// What a command gets besides its arguments.
struct Context {
    std::ostream& out;  // the result
    std::ostream& err;  // progress, warnings, errors
    bool out_is_terminal = false;
    bool err_is_terminal = false;
    Colour colour =
        Colour::kNever;  // for `out`: terminal, NO_COLOR unset, TERM not dumb, or --color always
    std::filesystem::path program_directory;  // where this program lies: its siblings are ours
    int exit_code = kOk;                      // set by the command that ran
};

/// Adds one command to the program. The callback of the command sets context.exit_code.
/// The context outlives the run.
using AddCommand = void (*)(command_line::Command& program, Context& context);

/// A command as the program lists it.
struct Command {
    std::string_view name;  // the word that `add` adds
    AddCommand add = nullptr;
    bool reads_others = false;  // it tells about all commands: completion
};

/// `aliquot help config check` is `aliquot config check --help`: the words as run() wants them, null at the end as
/// in main(). They point into argv and to literals.
std::vector<char*> with_help_option(int argc, char** argv);

/// Runs the program: parses, calls one command (when the first word names it, the options of no other
/// are made: they are a quarter of a start), prints "aliquot: <one line>" on usage errors (with
/// the nearest known word), and returns the exit code.
int run(int argc, char** argv, std::span<const Command> commands);

/// Prints "aliquot: <message>" to err and sets the exit code.
void fail(Context& context, int exit_code, const std::string& message);

}  // namespace aliquot::cli
