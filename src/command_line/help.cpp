// SPDX-License-Identifier: Apache-2.0
#include "command_line/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "base/text.h"

namespace aliquot::command_line {
namespace {

class Help final : public CLI::Formatter {
public:
    Help() {
        column_width(34);
        label("Positionals", "Arguments");
    }

    std::string make_help(const CLI::App* command, std::string name,
                          CLI::AppFormatMode mode) const override {
        std::string path = command->get_name();
        for (const CLI::App* above = command->get_parent(); above != nullptr;
             above = above->get_parent()) {
            path = above->get_name() + ' ' + path;
        }
        (void)name;
        std::ostringstream out;
        out << command->get_description() << '\n';
        if (const std::string examples = command->get_footer(); !examples.empty()) {
            out << "\nExamples:\n";
            std::istringstream lines(examples);
            for (std::string line; std::getline(lines, line);) out << "  " << line << '\n';
        }
        out << "\nUsage: " << path;
        if (!commands_of(command).empty()) out << " COMMAND";
        out << usage_of(*command) << '\n'
            << make_positionals(command) << make_subcommands(command, mode)
            << make_groups(command, mode);
        return out.str();
    }

    std::string make_subcommands(const CLI::App* command,
                                 CLI::AppFormatMode /*mode*/) const override {
        const auto commands = commands_of(command);
        if (commands.empty()) return "";
        std::ostringstream out;
        out << "\nCommands:\n";
        for (const CLI::App* one : commands) {
            CLI::detail::format_help(out, one->get_name(), summary_of(one->get_description()),
                                     get_column_width());
        }
        return out.str();
    }

    std::string make_option_opts(const CLI::Option* option) const override {
        std::string text = value_of(*option);
        if (!text.empty()) text = ' ' + text;
        return option->get_required() ? text + " (required)" : text;
    }

private:
    static std::vector<const CLI::App*> commands_of(const CLI::App* command) {
        return command->get_subcommands([](const CLI::App* one) {
            return !one->get_name().empty() && !one->get_group().empty();
        });
    }
};

}  // namespace

namespace {

/// CLI11 writes what a check expects behind the name: "PERCENT:UINT in [0 - 100]", "FORMAT:{json,yaml}". The name can have
/// such marks of its own: "MODEL[:N]", "HOST:PORT".
std::size_t begin_of_checks(std::string_view type) {
    std::size_t begin = type.size();
    for (const std::string_view mark :
         {"{", ":{", ":UINT in [", ":INT in [", ":FLOAT in [", ":FILE"}) {
        begin = std::min(begin, type.find(mark));
    }
    return begin;
}

}  // namespace

std::string value_of(const CLI::Option& option) {
    if (!option.get_option_text().empty()) return option.get_option_text();
    if (option.get_type_size() == 0 || option.get_expected_max() == 0) return {};  // a flag
    std::string type = option.get_type_name();
    const std::string checks = type.substr(begin_of_checks(type));
    type.resize(type.size() - checks.size());
    if (type == "UINT" || type == "INT" || type == "FLOAT") type = "N";
    if (type == "TEXT" || type.empty()) type = "VALUE";
    std::vector<std::string> notes;
    if (const auto open = checks.find('{'); open != std::string::npos) {
        std::string choices = checks.substr(open + 1, checks.find('}', open) - open - 1);
        for (auto at = choices.find(','); at != std::string::npos; at = choices.find(',', at + 2)) {
            choices.insert(at + 1, " ");
        }
        notes.push_back(choices);
    }
    if (!option.get_default_str().empty()) notes.push_back("default " + option.get_default_str());
    if (!notes.empty()) type += " (" + join(notes, "; ") + ')';
    return type;
}

std::string usage_of(const CLI::App& command) {
    std::string text = " [OPTIONS]";
    for (const CLI::Option* option : command.get_options()) {
        if (option->nonpositional()) continue;
        std::string name = option->get_name(true);
        if (option->get_expected_max() > 1) name += "...";
        text += option->get_required() ? ' ' + name : " [" + name + ']';
    }
    return text;
}

std::string summary_of(std::string_view description) {
    description = description.substr(0, description.find('\n'));
    for (const std::string_view end : {": ", ". "}) {
        description = description.substr(0, description.find(end));
    }
    return std::string(description);
}

std::shared_ptr<CLI::FormatterBase> make_help() { return std::make_shared<Help>(); }

}  // namespace aliquot::command_line
