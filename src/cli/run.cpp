// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "base/nearest_word.h"
#include "base/sentence.h"
#include "cli/command.h"
#include "cli/standard_output.h"
#include "command_line/command.h"

namespace aliquot::cli {
namespace {

bool is_set(const char* variable) {
    const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): at start
    return value != nullptr && *value != '\0';
}

Colour wants_colour(const std::string& choice, bool terminal) {
    if (choice == "always") return Colour::kAnsi;
    if (choice == "never" || is_set("NO_COLOR")) return Colour::kNever;
    if (is_set("CLICOLOR_FORCE") || is_set("FORCE_COLOR")) return Colour::kAnsi;
    const char* const kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): at start
    const bool shows = terminal && (kind == nullptr || std::string_view(kind) != "dumb");
    return shows ? Colour::kAnsi : Colour::kNever;
}

/// What to say of a word that nothing wanted.
std::string explain_extra(const command_line::Command& command, const std::string& word) {
    const bool option = word.size() > 1 && word.front() == '-';
    const std::string name = option ? word.substr(0, word.find('=')) : word;
    std::vector<std::string> names;
    if (option) {
        for (const auto* one = &command; one != nullptr; one = one->parent()) {
            for (const command_line::Description& known : one->options()) {
                names.insert(names.end(), known.names.begin(), known.names.end());
            }
        }
    } else {
        for (const auto* one : command.commands()) names.push_back(one->name());
    }
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string_view near = nearest_word(name, known);
    std::string message = option                       ? "unknown option '"
                          : command.commands().empty() ? "unexpected argument '"
                                                       : "unknown command '";
    message += name + '\'';
    message += did_you_mean(near);
    return message;
}

std::string without_end(std::string text) {
    text = one_line(text);
    while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
    return text;
}

/// What somebody gave is told again, but not 5,000 letters of it: a word of a message keeps its begin and its end.
std::string with_short_words(const std::string& text) {
    constexpr std::size_t kMost = 300;
    constexpr std::size_t kEnd = 20;
    std::string made;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string_view word = std::string_view(text).substr(at, end - at);
        made += one_line(word, kMost);
        if (word.size() > kMost + kEnd) made += word.substr(word.size() - kEnd);
        if (end < text.size()) made += ' ';
        at = end + 1;
    }
    return made;
}

void refuse(const command_line::Command& program, Context& context,
            const command_line::Parsed& parsed) {
    const command_line::Command& command = program.deepest();
    std::string message = parsed.unwanted.empty() ? without_end(parsed.text)
                                                  : explain_extra(command, parsed.unwanted);
    if (message.back() != '?') message += ';';
    fail(context, kUsage, without_end(message) + " see '" + command.path() + " --help'");
}

/// The first word when it should name a command and does not: CLI11 shows the help all the same.
std::string unknown_first_word(const command_line::Command& program, int argc, char** argv) {
    const std::string word = argc > 1 ? argv[1] : "";
    if (word.empty() || word.front() == '-') return {};
    const auto commands = program.commands();
    const bool known =
        std::ranges::any_of(commands, [&](const auto* one) { return one->name() == word; });
    return known ? std::string() : word;
}

/// A command that only holds others says what they are.
void ask_for_command(const command_line::Command& program, Context& context) {
    const command_line::Command& command = program.deepest();
    if (command.commands().empty()) return;
    context.err << command.help();
    context.exit_code = kUsage;
}

/// Options of the commands that can also stand before a command's name, as in kubectl.
constexpr auto kGoBefore = std::to_array<std::string_view>(
    {"--kubeconfig", "--context", "--request-timeout", "-n", "--namespace", "-o", "--output"});

/// How many words an option that can go before a command takes there: 0, 1 ("--context=lab", "-ojson"), 2.
std::size_t width_before_command(std::string_view word) {
    for (const std::string_view name : kGoBefore) {
        if (word == name) return 2;
        if (!word.starts_with(name)) continue;
        if (!name.starts_with("--") || word[name.size()] == '=') return 1;
    }
    return 0;
}

/// The words with such options behind the name of the command: `aliquot --context lab node list` is
/// `aliquot node list --context lab`. null at the end; they point into argv.
std::vector<char*> with_options_behind(const command_line::Command& program, int argc,
                                       char** argv) {
    std::vector<char*> names{argv, argv + std::min(argc, 1)};
    std::vector<char*> options;
    const command_line::Command* at = &program;
    int next = 1;
    while (next < argc) {
        const auto width = static_cast<int>(width_before_command(argv[next]));
        if (width > 0) {
            const int end = std::min(next + width, argc);
            options.insert(options.end(), argv + next, argv + end);
            next = end;
            continue;
        }
        const auto below = at->commands();
        const auto named =
            std::ranges::find(below, std::string_view(argv[next]), &command_line::Command::name);
        if (named == below.end()) break;
        at = *named;
        names.push_back(argv[next++]);
    }
    names.insert(names.end(), options.begin(), options.end());
    names.insert(names.end(), argv + next, argv + argc);
    names.push_back(nullptr);
    return names;
}

/// Where the first word stands that is neither an option that can go before a command nor its value; argc: nowhere.
int first_name(int argc, char** argv) {
    int at = 1;
    while (at < argc) {
        const auto width = static_cast<int>(width_before_command(argv[at]));
        if (width == 0) return at;
        at += width;
    }
    return argc;
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
    context.out.flush();
    const auto* const output = dynamic_cast<const StandardOutput*>(context.out.rdbuf());
    const int problem = output == nullptr ? 0 : output->problem();
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
    context.err << "aliquot: " << with_short_words(without_end(message)) << '\n';
    context.exit_code = exit_code;
}

std::vector<char*> with_help_option(int argc, char** argv) {
    static char option[] = "--help";
    std::vector<char*> words(argv, argv + argc);
    if (const int name = first_name(argc, argv); name > 1 && name < argc) {
        // `explain placement` is another program than `explain pod`: who it is, the second word says.
        const bool two = std::string_view(argv[name]) == "explain" && name + 1 < argc;
        std::rotate(words.begin() + 1, words.begin() + name, words.begin() + name + (two ? 2 : 1));
    }
    if (argc > 1 && std::string_view(words[1]) == "help") {
        words.erase(words.begin() + 1);
        words.push_back(option);
    }
    words.push_back(nullptr);
    return words;
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

    command_line::Command program("GPU sharing for Kubernetes: try it here, check it, explain it.",
                                  "aliquot");
    program.set_help_flag("-h,--help", "Show help for this command");
    program.set_version_flag("--version", "aliquot " ALIQUOT_VERSION, "Show the version");
    program.fallthrough();
    program.require_subcommand(0, 1);
    std::string colour = "auto";
    program
        .add_option("--color", colour, "Use colour in the output: auto, always or never", "WHEN")
        ->one_of({"auto", "always", "never"});
    program.parse_complete_callback(
        [&] { context.colour = wants_colour(colour, context.out_is_terminal); });
    for (const Command& command : wanted_by(argc > 1 ? argv[1] : "", commands)) {
        command.add(program, context);
    }
    program.footer(
        "aliquot up --gpu a2 --config sharing.yaml pods.yaml   # pods on a simulated GPU\n"
        "aliquot config check sharing.yaml                     # what is wrong, and how to fix it\n"
        "aliquot config explain sharing.yaml                   # what this node would offer");
    std::vector<char*> words = with_options_behind(program, argc, argv);
    command_line::Parsed parsed = program.parse(argc, words.data());
    switch (parsed.kind) {
        using enum command_line::Parsed::Kind;
        case kRun:
            ask_for_command(program, context);
            break;
        case kHelp:
            if (parsed.unwanted = unknown_first_word(program, argc, words.data());
                !parsed.unwanted.empty()) {
                refuse(program, context, parsed);
                return context.exit_code;
            }
            [[fallthrough]];
        case kVersion:
            context.out << parsed.text;
            break;
        case kWrong:
            refuse(program, context, parsed);
            return context.exit_code;
    }
    return finish(context);
}

}  // namespace aliquot::cli
