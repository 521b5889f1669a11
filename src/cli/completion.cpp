// SPDX-License-Identifier: Apache-2.0
// Completion scripts, written from the commands themselves so that they cannot fall behind.
#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <sstream>

#include "cli/command.h"
#include "cli/help.h"

namespace aliquot::cli {
namespace {

struct OptionWords {
    std::vector<std::string> names;  // "--output", "-o"
    std::string description;
    bool takes_value = false;
    std::vector<std::string> choices;  // of its value; empty: anything
};

struct CommandWords {
    std::string path;  // "aliquot config check"
    std::string description;
    std::vector<const CLI::App*> commands;
    std::vector<OptionWords> options;
    std::vector<std::string> choices;  // of its first argument; empty: files
};

/// The words that CLI11 shows as "TEXT:{a,b}" for an option checked by IsMember.
std::vector<std::string> choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const auto open = type.find('{');
    const auto close = type.find('}', open);
    std::vector<std::string> choices;
    if (open == std::string::npos || close == std::string::npos) return choices;
    std::istringstream words(type.substr(open + 1, close - open - 1));
    for (std::string word; std::getline(words, word, ',');) choices.push_back(word);
    return choices;
}

void collect(const CLI::App& command, const std::string& path,
             const std::vector<OptionWords>& inherited, std::vector<CommandWords>& all) {
    CommandWords words;
    words.path = path;
    words.description = summary_of(command.get_description());
    words.options = inherited;
    for (const CLI::Option* option : command.get_options()) {
        if (!option->nonpositional()) {
            if (words.choices.empty()) words.choices = choices_of(*option);
            continue;
        }
        OptionWords one;
        for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
        for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
        one.description = summary_of(option->get_description());
        one.takes_value = option->get_items_expected_max() > 0;
        one.choices = choices_of(*option);
        // Every command has its own --help and shares the program's other options.
        if (one.names.front() == "--help" && !inherited.empty()) continue;
        words.options.push_back(std::move(one));
    }
    words.commands = command.get_subcommands(
        [](const CLI::App* one) { return !one->get_name().empty() && !one->get_group().empty(); });
    std::vector<OptionWords> passed_on = words.options;
    std::erase_if(passed_on,
                  [](const OptionWords& one) { return one.names.front() == "--version"; });
    const auto below = words.commands;
    const bool top = inherited.empty();
    all.push_back(std::move(words));
    for (const CLI::App* one : below) {
        collect(*one, path + ' ' + one->get_name(), top ? passed_on : inherited, all);
    }
}

std::string join(const std::vector<std::string>& words, std::string_view separator = " ") {
    std::string text;
    for (const std::string& word : words) {
        if (!text.empty()) text += separator;
        text += word;
    }
    return text;
}

/// In single quotes, as all three shells read it but for the quote itself, which is left out.
std::string quoted(std::string text) {
    std::erase_if(text, [](char c) { return c == '\'' || c == '\\' || c == '\n'; });
    return '\'' + text + '\'';
}

std::string names_of(const CommandWords& command) {
    std::vector<std::string> names;
    for (const OptionWords& option : command.options) {
        names.insert(names.end(), option.names.begin(), option.names.end());
    }
    return join(names);
}

std::string commands_of(const CommandWords& command) {
    std::vector<std::string> names;
    for (const CLI::App* one : command.commands) names.push_back(one->get_name());
    return join(names);
}

/// `case` patterns of all commands below the program.
std::string command_patterns(const std::vector<CommandWords>& all) {
    std::vector<std::string> patterns;
    for (std::size_t i = 1; i < all.size(); ++i) patterns.push_back('"' + all[i].path + '"');
    return join(patterns, " | ");
}

void write_bash(std::ostream& out, const std::vector<CommandWords>& all) {
    out << "# bash completion for aliquot; source <(aliquot completion bash)\n"
           "_aliquot() {\n"
           "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" at=aliquot i\n"
           "    COMPREPLY=()\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case \"$at ${COMP_WORDS[i]}\" in\n"
        << "            " << command_patterns(all) << ") at=\"$at ${COMP_WORDS[i]}\" ;;\n"
        << "        esac\n    done\n"
           "    case \"$at ${COMP_WORDS[COMP_CWORD - 1]}\" in\n";
    for (const CommandWords& command : all) {
        for (const OptionWords& option : command.options) {
            if (!option.takes_value) continue;
            std::vector<std::string> patterns;
            for (const std::string& name : option.names) {
                patterns.push_back('"' + command.path + ' ' + name + '"');
            }
            out << "        " << join(patterns, " | ") << ")\n            ";
            if (!option.choices.empty()) {
                out << "COMPREPLY=($(compgen -W " << quoted(join(option.choices))
                    << " -- \"$cur\"))\n            ";
            }
            out << "return ;;\n";
        }
    }
    out << "    esac\n    case \"$at\" in\n";
    for (const CommandWords& command : all) {
        out << "        \"" << command.path << "\")\n"
            << "            if [[ $cur == -* ]]; then\n"
            << "                COMPREPLY=($(compgen -W " << quoted(names_of(command))
            << " -- \"$cur\"))\n";
        const std::string words =
            command.commands.empty() ? join(command.choices) : commands_of(command);
        if (!words.empty()) {
            out << "            else\n                COMPREPLY=($(compgen -W " << quoted(words)
                << " -- \"$cur\"))\n";
        }
        out << "            fi ;;\n";
    }
    out << "    esac\n}\ncomplete -o default -F _aliquot aliquot\n";
}

void write_zsh(std::ostream& out, const std::vector<CommandWords>& all) {
    out << "#compdef aliquot\n"
           "# zsh completion for aliquot; source <(aliquot completion zsh)\n"
           "_aliquot() {\n"
           "    local at=aliquot i\n"
           "    local -a found\n"
           "    for ((i = 2; i < CURRENT; i++)); do\n"
           "        case \"$at ${words[i]}\" in\n"
        << "            " << command_patterns(all) << ") at=\"$at ${words[i]}\" ;;\n"
        << "        esac\n    done\n"
           "    case \"$at ${words[CURRENT-1]}\" in\n";
    for (const CommandWords& command : all) {
        for (const OptionWords& option : command.options) {
            if (!option.takes_value) continue;
            std::vector<std::string> patterns;
            for (const std::string& name : option.names) {
                patterns.push_back('"' + command.path + ' ' + name + '"');
            }
            out << "        " << join(patterns, " | ") << ") "
                << (option.choices.empty() ? "_files" : "compadd -- " + join(option.choices))
                << "; return ;;\n";
        }
    }
    // A ':' separates a word from its description; names have none.
    const auto described = [](const std::string& name, std::string text) {
        return quoted(name + ':' + std::move(text));
    };
    out << "    esac\n    case \"$at\" in\n";
    for (const CommandWords& command : all) {
        out << "        \"" << command.path << "\")\n"
            << "            if [[ ${words[CURRENT]} == -* ]]; then\n                found=(";
        for (const OptionWords& option : command.options) {
            for (const std::string& name : option.names) {
                out << ' ' << described(name, option.description);
            }
        }
        out << ")\n                _describe option found\n            else\n";
        if (command.commands.empty()) {
            out << "                "
                << (command.choices.empty() ? "_files" : "compadd -- " + join(command.choices))
                << '\n';
        } else {
            out << "                found=(";
            for (const CLI::App* one : command.commands) {
                out << ' ' << described(one->get_name(), summary_of(one->get_description()));
            }
            out << ")\n                _describe command found\n";
        }
        out << "            fi ;;\n";
    }
    out << "    esac\n}\n"
           "if [[ $funcstack[1] == _aliquot ]]; then _aliquot \"$@\"; else compdef _aliquot "
           "aliquot; "
           "fi\n";
}

void write_fish(std::ostream& out, const std::vector<CommandWords>& all) {
    std::vector<std::string> patterns;
    for (std::size_t i = 1; i < all.size(); ++i) patterns.push_back(quoted(all[i].path));
    out << "# fish completion for aliquot; aliquot completion fish | source\n"
           "function __aliquot_at\n"
           "    set -l at aliquot\n"
           "    for word in (commandline -opc)[2..-1]\n"
           "        switch \"$at $word\"\n"
        << "            case " << join(patterns) << "\n                set at \"$at $word\"\n"
        << "        end\n    end\n    test \"$at\" = \"$argv[1]\"\nend\n";
    for (const CommandWords& command : all) {
        const std::string here =
            "complete -c aliquot -n \"__aliquot_at " + quoted(command.path) + "\"";
        if (!command.commands.empty() || !command.choices.empty()) out << here << " -f\n";
        for (const CLI::App* one : command.commands) {
            out << here << " -a " << one->get_name() << " -d "
                << quoted(summary_of(one->get_description())) << '\n';
        }
        if (!command.choices.empty())
            out << here << " -a " << quoted(join(command.choices)) << '\n';
        for (const OptionWords& option : command.options) {
            out << here;
            for (const std::string& name : option.names) {
                out << (name.rfind("--", 0) == 0 ? " -l " + name.substr(2)
                                                 : " -s " + name.substr(1));
            }
            if (!option.choices.empty()) out << " -x -a " << quoted(join(option.choices));
            if (option.takes_value && option.choices.empty()) out << " -r";
            out << " -d " << quoted(option.description) << '\n';
        }
    }
}

}  // namespace

void add_completion_command(CLI::App& program, Context& context) {
    CLI::App* command =
        program.add_subcommand("completion", "Write a completion script for your shell");
    command->footer(
        "source <(aliquot completion bash)     # in ~/.bashrc\n"
        "source <(aliquot completion zsh)      # in ~/.zshrc, after compinit\n"
        "aliquot completion fish | source      # in ~/.config/fish/config.fish");
    auto shell = std::make_shared<std::string>();
    command->add_option("SHELL", *shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}))
        ->option_text(" ");
    command->callback([shell, &program, &context] {
        std::vector<CommandWords> all;
        collect(program, "aliquot", {}, all);
        if (*shell == "bash") write_bash(context.out, all);
        if (*shell == "zsh") write_zsh(context.out, all);
        if (*shell == "fish") write_fish(context.out, all);
    });
}

}  // namespace aliquot::cli
