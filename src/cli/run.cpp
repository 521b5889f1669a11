// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "base/nearest_word.h"
#include "cli/command.h"
#include "cli/help.h"

namespace aliquot::cli {
namespace {

bool is_set(const char* variable) {
    const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): at start
    return value != nullptr && *value != '\0';
}

bool wants_colour(const std::string& choice, bool terminal) {
    if (choice == "always") return true;
    if (choice == "never" || is_set("NO_COLOR")) return false;
    if (is_set("CLICOLOR_FORCE") || is_set("FORCE_COLOR")) return true;
    const char* const kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): at start
    return terminal && (kind == nullptr || std::string_view(kind) != "dumb");
}

/// The command whose words were understood last: "aliquot config" of `aliquot config chekc`.
const CLI::App* deepest(const CLI::App& program) {
    const CLI::App* command = &program;
    while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
    return command;
}

std::string path_of(const CLI::App* command) {
    std::string path = command->get_name();
    while ((command = command->get_parent()) != nullptr) {
        path.insert(0, 1, ' ').insert(0, command->get_name());
    }
    return path;
}

std::vector<const CLI::App*> commands_of(const CLI::App* command) {
    return command->get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); });
}

/// What to say of a word that nothing wanted.
std::string explain_extra(const CLI::App* command, const std::string& word) {
    const bool option = word.size() > 1 && word.front() == '-';
    const std::string name = option ? word.substr(0, word.find('=')) : word;
    std::vector<std::string> names;
    if (option) {
        for (const CLI::App* one = command; one != nullptr; one = one->get_parent()) {
            for (const CLI::Option* known : one->get_options()) {
                for (const std::string& text : known->get_lnames()) names.push_back("--" + text);
                for (const std::string& text : known->get_snames()) names.push_back("-" + text);
            }
        }
    } else {
        for (const CLI::App* one : commands_of(command)) names.push_back(one->get_name());
    }
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string_view near = nearest_word(name, known);
    std::string message = option                         ? "unknown option '"
                          : commands_of(command).empty() ? "unexpected argument '"
                                                         : "unknown command '";
    message += name + '\'';
    if (!near.empty()) message += ", did you mean '" + std::string(near) + "'?";
    return message;
}

std::string one_line(std::string text) {
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 0x20U || c == 0x7f) c = ' ';
    }
    while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
    return text;
}

int refuse(const CLI::App& program, Context& context, const CLI::ParseError& error) {
    const CLI::App* command = deepest(program);
    std::string message = one_line(error.what());
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        const auto extras = program.remaining(true);
        if (!extras.empty()) message = explain_extra(command, extras.front());
    } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
               !program.remaining(true).empty()) {
        // A wrong word explains better why something is missing than that it is.
        message = explain_extra(command, program.remaining(true).front());
    }
    if (message.back() != '?') message += ';';
    fail(context, kUsage, one_line(message) + " see '" + path_of(command) + " --help'");
    return context.exit_code;
}

/// A command that only holds others says what they are.
void ask_for_command(const CLI::App& program, Context& context) {
    const CLI::App* command = deepest(program);
    if (commands_of(command).empty()) return;
    context.err << command->help();
    context.exit_code = kUsage;
}

/// The commands that `word`, the first one, can lead to: the one of that name, none for the
/// version, or all: for the help, for what is wrong, for a command that tells about the others.
std::span<const Command> wanted_by(std::string_view word, std::span<const Command> commands) {
    if (word == "--version") return {};
    const auto named = std::ranges::find(commands, word, &Command::name);
    if (named == commands.end() || named->reads_others) return commands;
    return {named, 1};
}

/// A closed pipe (`aliquot ... | head`) is no error worth a word; a full disk is.
int finish(Context& context) {
    errno = 0;
    context.out.flush();
    if (context.out.good()) return context.exit_code;
    const int problem = errno;
    if (problem != 0 && problem != EPIPE) {
        context.err << "aliquot: cannot write the output: "
                    << std::error_code(problem, std::generic_category()).message() << '\n';
        return kCouldNotRun;
    }
    return context.exit_code;
}

}  // namespace

void fail(Context& context, int exit_code, const std::string& message) {
    context.out.flush();
    context.err << "aliquot: " << one_line(message) << '\n';
    context.exit_code = exit_code;
}

int run(int argc, char** argv, std::span<const Command> commands) {
    // A handler and not SIG_IGN: programs that we start get the default back.
    struct sigaction quiet {};
    quiet.sa_handler = [](int) {};
    ::sigaction(SIGPIPE, &quiet, nullptr);

    Context context{std::cout, std::cerr};
    context.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
    context.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
    std::error_code problem;
    context.program_directory =
        std::filesystem::read_symlink("/proc/self/exe", problem).parent_path();

    CLI::App program("GPU sharing for Kubernetes: try it here, check it, explain it.", "aliquot");
    program.formatter(make_help());
    program.set_help_flag("-h,--help", "Say what this command does");
    program.set_version_flag("--version", "aliquot " ALIQUOT_VERSION, "Say which version this is");
    program.fallthrough();
    program.require_subcommand(0, 1);
    std::string colour = "auto";
    program.add_option("--color", colour, "Colours in the output: auto, always or never")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->option_text("WHEN");
    program.parse_complete_callback(
        [&] { context.colour = wants_colour(colour, context.out_is_terminal); });
    for (const Command& command : wanted_by(argc > 1 ? argv[1] : "", commands)) {
        command.add(program, context);
    }
    program.footer(
        "aliquot up --gpu a2 --config sharing.yaml pods.yaml   # pods on a simulated GPU\n"
        "aliquot config check sharing.yaml                     # what is wrong, and how to mend "
        "it\n"
        "aliquot config explain sharing.yaml                   # what this node would offer");
    try {
        program.parse(argc, argv);
        ask_for_command(program, context);
    } catch (const CLI::CallForHelp&) {
        context.out << deepest(program)->help();
    } catch (const CLI::CallForVersion& version) {
        context.out << version.what() << '\n';
    } catch (const CLI::ParseError& error) {
        return refuse(program, context, error);
    }
    return finish(context);
}

}  // namespace aliquot::cli
