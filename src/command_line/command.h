// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

/// Commands and their options as all programs of ours declare them. CLI11 does the work and is seen by the
/// .cpp files of this folder only: it costs a compiler over 20 seconds a file.
namespace aliquot::command_line {

/// What an option can be read into: the types that command.cpp instantiates.
template <class T>
concept Value = std::same_as<T, std::string> || std::same_as<T, int> || std::same_as<T, unsigned> ||
    std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t> || std::same_as<T, double> ||
    std::same_as<T, std::filesystem::path> || std::same_as<T, std::optional<std::string>> ||
    std::same_as<T, std::optional<int>> || std::same_as<T, std::optional<unsigned>> ||
    std::same_as<T, std::optional<std::uint64_t>> || std::same_as<T, std::optional<double>> ||
    std::same_as<T, std::vector<std::string>> || std::same_as<T, std::vector<int>> ||
    std::same_as<T, std::vector<unsigned>> || std::same_as<T, std::vector<std::int64_t>> ||
    std::same_as<T, std::vector<std::uint64_t>>;

/// What a reading function throws when a value is wrong, and the function that called parse() catches:
/// "--flag: reason".
class UsageError : public std::runtime_error {
public:
    UsageError(const std::string& option, const std::string& reason)
        : std::runtime_error(option + ": " + reason) {}
};

/// An option, a flag, or a positional argument of a command; lives as long as its command.
class Option {
public:
    explicit Option(CLI::Option& option) : option_(option) {}

    Option* required(bool is = true);
    /// Only these values; completion offers them.
    Option* one_of(std::vector<std::string> values);
    /// Only numbers from `least` to `most`; T is int, unsigned, int64_t, uint64_t or double.
    template <Value T>
    Option* range(T least, T most);
    Option* existing_file();
    /// Any other rule: answers what is wrong, or nothing.
    Option* check(std::function<std::string(const std::string& value)> problem);
    /// Changes a value before its checks, which are those declared before.
    Option* transform(std::function<std::string(const std::string& value)> change);

    Option* excludes(Option* other);
    Option* excludes(const std::string& name);
    Option* needs(Option* other);

    /// How many values: (0, 1) is an option whose value can be left out.
    Option* expected(int least, int most);
    /// The value of an option whose value is left out.
    Option* default_str(const std::string& value);
    /// The variable's value of now is told by the help as the default.
    Option* capture_default_str();
    Option* delimiter(char between);
    /// false: one value each time, so that positional arguments may follow.
    Option* allow_extra_args(bool is);
    /// All values of an option that is given several times.
    Option* take_all();

    /// What the help shows in place of type and default.
    Option* option_text(const std::string& text);
    /// What the help shows in place of the type.
    Option* type_name(const std::string& name);
    /// Works, but no help and no completion shows it.
    Option* hidden();
    /// What completion asks `aliquot complete` for when this value is typed: "nodes", "gpu-models".
    Option* complete_by(std::string candidates);

    /// How many values were given.
    [[nodiscard]] std::size_t count() const;
    /// "--long", "-s" or the positional argument's name.
    [[nodiscard]] std::string name() const;

private:
    friend class Command;
    CLI::Option& option_;
    std::string candidates_;
};

/// What help and completion tell about one option.
struct Description {
    std::vector<std::string> names;  // "--output", "-o"; none: a positional argument
    std::string text;
    bool takes_value = false;
    std::vector<std::string> choices;  // of its value; none: anything
    std::string candidates;            // see Option::complete_by(); empty: none
    std::string shown;    // what the help shows for its value: "FORMAT (text, json)"; none: a flag
    bool visible = true;  // false: it works, and no help shows it
};

/// What came of parse().
struct Parsed {
    enum class Kind : std::uint8_t { kRun, kHelp, kVersion, kWrong };
    Kind kind = Kind::kRun;
    std::string
        text;  // the help or version to print, with line end; what is wrong, in CLI11's words
    std::string unwanted;  // kWrong because of, or beside, a word that nothing takes: that word
};

/// A program or one of its commands. --help is what it does, examples (the footer), usage, arguments and options. Not thread-safe; pointers to options and commands live as long as the
/// program.
class Command {
public:
    explicit Command(std::string description = "", const std::string& name = "");
    ~Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    Command* add_subcommand(const std::string& name, const std::string& description);
    /// `names`: "-o,--output", or "NAME" for a positional argument. `target` outlives parse(). `shown`: see
    /// option_text().
    template <Value T>
    Option* add_option(const std::string& names, T& target, const std::string& description = "",
                       const std::string& shown = "");
    Option* add_flag(const std::string& names, bool& target, const std::string& description = "");
    void set_help_flag(const std::string& names, const std::string& description);
    void set_version_flag(const std::string& names, const std::string& version,
                          const std::string& description = "");
    /// Runs when the command was named and all words were understood.
    void callback(std::function<void()> run);
    /// Runs when the own options were read, before any command's callback.
    void parse_complete_callback(std::function<void()> run);
    void footer(const std::string& text);
    /// The same, made when the help is shown.
    void footer(std::function<std::string()> text);
    /// At least `least` commands must be named, at most `most` can (0: any number).
    void require_subcommand(std::size_t least, std::size_t most = 0);
    /// Options of this command can be written after the name of a command below it.
    void fallthrough();

    /// The command line of main(), or words separated by blanks without the program's name.
    Parsed parse(int argc, const char* const* argv);
    Parsed parse(const std::string& words);
    /// The same with the words apart.
    Parsed parse(std::vector<std::string> words);

    /// The command that the last parse() understood last: "aliquot config" of `aliquot config chekc`.
    [[nodiscard]] const Command& deepest() const;
    /// "aliquot config"
    [[nodiscard]] std::string path() const;
    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::string description() const;
    [[nodiscard]] std::string help() const;
    /// The examples of the help, one a line; the footer.
    [[nodiscard]] std::string examples() const;
    /// "aliquot config check [OPTIONS] FILE": the usage line of the help.
    [[nodiscard]] std::string usage() const;
    /// Works, but no help, no completion and no manual page shows it.
    void hide();
    [[nodiscard]] bool hidden() const;
    /// The command above; null: this is the program.
    [[nodiscard]] const Command* parent() const { return parent_; }
    /// Without the hidden ones.
    [[nodiscard]] std::vector<const Command*> commands() const;
    /// --help and hidden options are among them.
    [[nodiscard]] std::vector<Description> options() const;

private:
    Command(CLI::App& app, const Command& parent);
    [[nodiscard]] std::string unwanted() const;
    template <class Run>
    Parsed parse_by(const Run& run);

    std::unique_ptr<CLI::App> owned_;  // null: the parent's has it
    CLI::App& app_;
    const Command* parent_ = nullptr;
    std::list<std::unique_ptr<Command>> commands_;
    std::list<Option> options_;
};

}  // namespace aliquot::command_line
