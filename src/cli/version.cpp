// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "command_line/command.h"

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
    command->add_option("-o,--output", *format, "Output format", "FORMAT (text, json, yaml)")
        ->one_of({"text", "json", "yaml"});
    command->callback([format, &context] {
        const std::string version = ALIQUOT_VERSION;
        if (*format == "json") {
            context.out << nlohmann::ordered_json{{"version", version}, {"compiler", compiler()}}
                        << '\n';
        } else if (*format == "yaml") {
            context.out << "version: " << version << "\ncompiler: \"" << compiler() << "\"\n";
        } else {
            context.out << "aliquot " << version << '\n';
        }
    });
}

}  // namespace aliquot::cli
