// SPDX-License-Identifier: Apache-2.0
// Completion scripts, written from the commands themselves so that they cannot fall behind.
#include <memory>
#include <ostream>
#include <sstream>

#include "base/text.h"
#include "cli/commands.h"
#include "command_line/command.h"
#include "command_line/help.h"

namespace aliquot::cli {
namespace {

using command_line::Description;
using command_line::summary_of;

struct CompletedCommand {
    std::string path;  // "aliquot config check"
    std::vector<const command_line::Command*> commands;
    std::vector<Description> options;
    std::vector<std::string> choices;  // of its first argument; empty: files
    std::string candidates;            // of its arguments, for `aliquot complete`; empty: none
};

void collect(const command_line::Command& command, const std::vector<Description>& inherited,
             std::vector<CompletedCommand>& all) {
    CompletedCommand words;
    words.path = command.path();
    words.options = inherited;
    for (Description& option : command.options()) {
        if (option.names.empty()) {
            if (words.choices.empty()) words.choices = option.choices;
            if (words.candidates.empty()) words.candidates = option.candidates;
            continue;
        }
        option.text = summary_of(option.text);
        // Every command has its own --help and shares the program's other options.
        if (option.names.front() == "--help" && !inherited.empty()) continue;
        words.options.push_back(std::move(option));
    }
    words.commands = command.commands();
    std::vector<Description> passed_on = words.options;
    std::erase_if(passed_on,
                  [](const Description& one) { return one.names.front() == "--version"; });
    const auto below = words.commands;
    const bool top = inherited.empty();
    all.push_back(std::move(words));
    for (const command_line::Command* one : below) {
        collect(*one, top ? passed_on : inherited, all);
    }
}

/// In single quotes, as all three shells read it but for the quote itself, which is left out.
std::string quoted(std::string text) {
    std::erase_if(text, [](char c) { return c == '\'' || c == '\\' || c == '\n'; });
    return '\'' + text + '\'';
}

std::string names_of(const CompletedCommand& command) {
    std::vector<std::string> names;
    for (const Description& option : command.options) {
        names.insert(names.end(), option.names.begin(), option.names.end());
    }
    return join(names, " ");
}

std::string commands_of(const CompletedCommand& command) {
    std::vector<std::string> names;
    for (const command_line::Command* one : command.commands) names.push_back(one->name());
    return join(names, " ");
}

/// `case` patterns of all commands below the program.
std::string command_patterns(const std::vector<CompletedCommand>& all) {
    std::vector<std::string> patterns;
    for (std::size_t i = 1; i < all.size(); ++i) patterns.push_back('"' + all[i].path + '"');
    return join(patterns, " | ");
}

/// What a shell asks the program itself. Nothing of an answer is taken for a shell's words: the names of contexts
/// and nodes are somebody else's.
constexpr std::string_view kAskInBash =
    "_aliquot_ask() {\n"
    "    local word\n"
    "    while IFS= read -r word; do\n"
    "        [[ $word == \"$cur\"* ]] && COMPREPLY+=(\"$(printf %q \"$word\")\")\n"
    "    done < <(\"${COMP_WORDS[0]}\" complete \"$1\" -- \"${COMP_WORDS[@]:1:COMP_CWORD-1}\" "
    "2>/dev/null)\n"
    "}\n";
constexpr std::string_view kAskInZsh =
    "_aliquot_ask() {\n"
    "    local -a told\n"
    "    told=(\"${(@f)$(\"${words[1]}\" complete $1 -- \"${(@)words[2,CURRENT-1]}\" "
    "2>/dev/null)}\")\n"
    "    told=(${told:#})\n"
    "    (( $#told )) && compadd -- $told\n"
    "}\n";
constexpr std::string_view kAskInFish =
    "function __aliquot_ask\n"
    "    aliquot complete $argv[1] -- (commandline -opc)[2..-1] 2>/dev/null\n"
    "end\n";

void write_bash(std::ostream& out, const std::vector<CompletedCommand>& all) {
    out << "# bash completion for aliquot; source <(aliquot completion bash)\n"
        << kAskInBash
        << "_aliquot() {\n"
           "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" at=aliquot i\n"
           "    COMPREPLY=()\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case \"$at ${COMP_WORDS[i]}\" in\n"
        << "            " << command_patterns(all) << ") at=\"$at ${COMP_WORDS[i]}\" ;;\n"
        << "        esac\n    done\n"
           "    case \"$at ${COMP_WORDS[COMP_CWORD - 1]}\" in\n";
    for (const CompletedCommand& command : all) {
        for (const Description& option : command.options) {
            if (!option.takes_value) continue;
            std::vector<std::string> patterns;
            for (const std::string& name : option.names) {
                patterns.push_back('"' + command.path + ' ' + name + '"');
            }
            out << "        " << join(patterns, " | ") << ")\n            ";
            if (!option.choices.empty()) {
                out << "COMPREPLY=($(compgen -W " << quoted(join(option.choices, " "))
                    << " -- \"$cur\"))\n            ";
            } else if (!option.candidates.empty()) {
                out << "_aliquot_ask " << option.candidates << "\n            ";
            }
            out << "return ;;\n";
        }
    }
    out << "    esac\n    case \"$at\" in\n";
    for (const CompletedCommand& command : all) {
        out << "        \"" << command.path << "\")\n"
            << "            if [[ $cur == -* ]]; then\n"
            << "                COMPREPLY=($(compgen -W " << quoted(names_of(command))
            << " -- \"$cur\"))\n";
        const std::string words =
            command.commands.empty() ? join(command.choices, " ") : commands_of(command);
        if (!words.empty()) {
            out << "            else\n                COMPREPLY=($(compgen -W " << quoted(words)
                << " -- \"$cur\"))\n";
        } else if (!command.candidates.empty()) {
            out << "            else\n                _aliquot_ask " << command.candidates << '\n';
        }
        out << "            fi ;;\n";
    }
    out << "    esac\n}\ncomplete -o default -F _aliquot aliquot\n";
}

std::string offered_in_zsh(const std::vector<std::string>& choices, const std::string& candidates) {
    if (!choices.empty()) return "compadd -- " + join(choices, " ");
    return candidates.empty() ? "_files" : "_aliquot_ask " + candidates;
}

void write_zsh(std::ostream& out, const std::vector<CompletedCommand>& all) {
    out << "#compdef aliquot\n"
           "# zsh completion for aliquot; source <(aliquot completion zsh)\n"
        << kAskInZsh
        << "_aliquot() {\n"
           "    local at=aliquot i\n"
           "    local -a found\n"
           "    for ((i = 2; i < CURRENT; i++)); do\n"
           "        case \"$at ${words[i]}\" in\n"
        << "            " << command_patterns(all) << ") at=\"$at ${words[i]}\" ;;\n"
        << "        esac\n    done\n"
           "    case \"$at ${words[CURRENT-1]}\" in\n";
    for (const CompletedCommand& command : all) {
        for (const Description& option : command.options) {
            if (!option.takes_value) continue;
            std::vector<std::string> patterns;
            for (const std::string& name : option.names) {
                patterns.push_back('"' + command.path + ' ' + name + '"');
            }
            out << "        " << join(patterns, " | ") << ") "
                << offered_in_zsh(option.choices, option.candidates) << "; return ;;\n";
        }
    }
    // A ':' separates a word from its description; names have none.
    const auto described = [](const std::string& name, std::string text) {
        return quoted(name + ':' + std::move(text));
    };
    out << "    esac\n    case \"$at\" in\n";
    for (const CompletedCommand& command : all) {
        out << "        \"" << command.path << "\")\n"
            << "            if [[ ${words[CURRENT]} == -* ]]; then\n                found=(";
        for (const Description& option : command.options) {
            for (const std::string& name : option.names) {
                out << ' ' << described(name, option.text);
            }
        }
        out << ")\n                _describe option found\n            else\n";
        if (command.commands.empty()) {
            out << "                " << offered_in_zsh(command.choices, command.candidates)
                << '\n';
        } else {
            out << "                found=(";
            for (const command_line::Command* one : command.commands) {
                out << ' ' << described(one->name(), summary_of(one->description()));
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

void write_fish(std::ostream& out, const std::vector<CompletedCommand>& all) {
    std::vector<std::string> patterns;
    for (std::size_t i = 1; i < all.size(); ++i) patterns.push_back(quoted(all[i].path));
    out << "# fish completion for aliquot; aliquot completion fish | source\n"
        << kAskInFish
        << "function __aliquot_at\n"
           "    set -l at aliquot\n"
           "    for word in (commandline -opc)[2..-1]\n"
           "        switch \"$at $word\"\n"
        << "            case " << join(patterns, " ") << "\n                set at \"$at $word\"\n"
        << "        end\n    end\n    test \"$at\" = \"$argv[1]\"\nend\n";
    for (const CompletedCommand& command : all) {
        const std::string here =
            "complete -c aliquot -n \"__aliquot_at " + quoted(command.path) + "\"";
        const bool asks = command.choices.empty() && !command.candidates.empty();
        if (!command.commands.empty() || !command.choices.empty() || asks) out << here << " -f\n";
        if (asks) out << here << " -a '(__aliquot_ask " << command.candidates << ")'\n";
        for (const command_line::Command* one : command.commands) {
            out << here << " -a " << one->name() << " -d " << quoted(summary_of(one->description()))
                << '\n';
        }
        if (!command.choices.empty())
            out << here << " -a " << quoted(join(command.choices, " ")) << '\n';
        for (const Description& option : command.options) {
            out << here;
            for (const std::string& name : option.names) {
                out << (name.rfind("--", 0) == 0 ? " -l " + name.substr(2)
                                                 : " -s " + name.substr(1));
            }
            if (!option.choices.empty()) out << " -x -a " << quoted(join(option.choices, " "));
            if (option.choices.empty() && !option.candidates.empty()) {
                out << " -x -a '(__aliquot_ask " << option.candidates << ")'";
            } else if (option.takes_value && option.choices.empty()) {
                out << " -r";
            }
            out << " -d " << quoted(option.text) << '\n';
        }
    }
}

}  // namespace

void add_completion_command(command_line::Command& program, Context& context) {
    command_line::Command* command =
        program.add_subcommand("completion", "Write a completion script for your shell");
    command->footer(
        "source <(aliquot completion bash)     # in ~/.bashrc\n"
        "source <(aliquot completion zsh)      # in ~/.zshrc, after compinit\n"
        "aliquot completion fish | source      # in ~/.config/fish/config.fish");
    auto shell = std::make_shared<std::string>();
    command->add_option("SHELL", *shell, "bash, zsh or fish", " ")
        ->required()
        ->one_of({"bash", "zsh", "fish"});
    command->callback([shell, &program, &context] {
        std::vector<CompletedCommand> all;
        collect(program, {}, all);
        if (*shell == "bash") write_bash(context.out, all);
        if (*shell == "zsh") write_zsh(context.out, all);
        if (*shell == "fish") write_fish(context.out, all);
    });
}

}  // namespace aliquot::cli
