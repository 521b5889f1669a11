// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "cli/answer.h"
#include "cli/commands.h"
#include "command_line/command.h"
#include "document/build.h"

namespace aliquot::cli {
namespace {

std::string compiler() {
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

}  // namespace

void add_version_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand("version", "Show the version");
    command->footer("aliquot version\naliquot version -o json");
    auto format = std::make_shared<std::string>("text");
    add_output(*command, *format, {"text"});
    command->callback([format, &context] {
        const std::string version = ALIQUOT_VERSION;
        if (*format == "text") {
            context.out << "aliquot " << version << '\n';
            return;
        }
        print_answer(context.out, "Version",
                     document::make_mapping({{"version", version}, {"compiler", compiler()}}),
                     *format);
    });
}

}  // namespace aliquot::cli
