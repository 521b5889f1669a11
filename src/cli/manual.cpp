// SPDX-License-Identifier: Apache-2.0
// Manual pages, written from the commands themselves as the completion scripts are: one for the program and
// one for each command. `aliquot man DIRECTORY` is for packages, so no help shows it.
#include <algorithm>
#include <memory>
#include <ostream>
#include <sstream>

#include "base/text.h"
#include "cli/commands.h"
#include "command_line/command.h"
#include "command_line/help.h"
#include "os/replace_file.h"

namespace aliquot::cli {
namespace {

using command_line::Description;

/// "aliquot config check" -> "aliquot-config-check"
std::string page_name(const command_line::Command& command) {
    std::string name = command.path();
    std::ranges::replace(name, ' ', '-');
    return name;
}

/// Text as roff shows it: no line is a request, no dash becomes a hyphen.
std::string roff(std::string_view text) {
    std::string result;
    bool at_start = true;
    for (const char c : text) {
        if (at_start && (c == '.' || c == '\'')) result += "\\&";
        if (c == '\\') {
            result += "\\e";
        } else {
            if (c == '-') result += '\\';
            result += c;
        }
        at_start = c == '\n';
    }
    return result;
}

void write_options(std::ostream& page, const std::vector<Description>& options) {
    for (const Description& option : options) {
        if (!option.visible) continue;
        page << ".TP\n";
        if (option.names.empty()) {
            page << "\\fI" << roff(option.shown) << "\\fR\n";
        } else {
            std::vector<std::string> names;
            for (const std::string& name : option.names) names.push_back(roff(name));
            page << "\\fB" << join(names, "\\fR, \\fB") << "\\fR";
            if (!option.shown.empty()) page << " \\fI" << roff(option.shown) << "\\fR";
            page << '\n';
        }
        page << roff(option.text) << '\n';
    }
}

std::string manual_page(const command_line::Command& command) {
    std::ostringstream page;
    const std::string name = page_name(command);
    std::string title = name;  // in capitals, as manual pages have it
    for (char& c : title) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    page << ".TH \"" << title << "\" 1 \"\" \"aliquot " << ALIQUOT_VERSION
         << "\" \"Aliquot manual\"\n"
         << ".SH NAME\n"
         << roff(name) << " \\- " << roff(command_line::summary_of(command.description())) << '\n'
         << ".SH SYNOPSIS\n"
         << roff(command.usage()) << '\n'
         << ".SH DESCRIPTION\n"
         << roff(command.description()) << '\n';
    if (const auto commands = command.commands(); !commands.empty()) {
        page << ".SH COMMANDS\n";
        for (const command_line::Command* one : commands) {
            page << ".TP\n\\fB" << roff(page_name(*one)) << "\\fR(1)\n"
                 << roff(command_line::summary_of(one->description())) << '\n';
        }
    }
    std::vector<Description> arguments = command.options();
    std::vector<Description> options;
    std::ranges::copy_if(arguments, std::back_inserter(options),
                         [](const Description& one) { return !one.names.empty(); });
    std::erase_if(arguments, [](const Description& one) { return !one.names.empty(); });
    if (!arguments.empty()) page << ".SH ARGUMENTS\n";
    write_options(page, arguments);
    page << ".SH OPTIONS\n";
    write_options(page, options);
    if (const std::string examples = command.examples(); !examples.empty()) {
        page << ".SH EXAMPLES\n.nf\n" << roff(examples) << "\n.fi\n";
    }
    page << ".SH EXIT STATUS\n"
            ".TP\n0\nSuccess.\n"
            ".TP\n1\nThere are findings, or a check or a job failed.\n"
            ".TP\n2\nUsage error, or an input file that cannot be read.\n"
            ".TP\n3\nThe machine, the node or the cluster did not let the command run.\n";
    if (command.parent() != nullptr) {
        page << ".SH SEE ALSO\n\\fB" << roff(page_name(*command.parent())) << "\\fR(1)\n";
    }
    return page.str();
}

/// False: it said why.
bool write_manual(const command_line::Command& command, const std::filesystem::path& directory,
                  Context& context) {
    const auto file = directory / (page_name(command) + ".1");
    if (const auto written = os::write_output(file, manual_page(command)); !written) {
        fail(context, kCouldNotRun, written.error().message);
        return false;
    }
    const auto below = command.commands();
    return std::ranges::all_of(
        below, [&](const auto* one) { return write_manual(*one, directory, context); });
}

}  // namespace

void add_man_command(command_line::Command& program, Context& context) {
    command_line::Command* command =
        program.add_subcommand("man", "Write the manual pages of all commands");
    command->footer("aliquot man /usr/local/share/man/man1");
    command->hide();
    auto directory = std::make_shared<std::filesystem::path>();
    command->add_option("DIRECTORY", *directory, "Existing directory for the pages", " ")
        ->required();
    command->callback(
        [directory, &program, &context] { write_manual(program, *directory, context); });
}

}  // namespace aliquot::cli
