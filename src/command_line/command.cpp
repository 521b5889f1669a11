// SPDX-License-Identifier: Apache-2.0
#include "command_line/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "command_line/help.h"

namespace aliquot::command_line {
namespace {

/// The values that CLI11 shows as "TEXT:{a,b}" for an option checked by IsMember.
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

/// Whether the help shows a file or a directory for its value: "FILE", "[KEY=]FILE", "unix:PATH".
bool names_file(const CLI::Option& option) {
    std::string shown = value_of(option);
    if (shown.find_first_not_of(' ') == std::string::npos) shown = option.get_name(true);
    const std::string_view word = std::string_view(shown).substr(0, shown.find(' '));
    return word.ends_with("FILE") || word.ends_with("DIR") || word.ends_with("PATH");
}

/// What CLI11 would take and no command can use: no name at all where a file is meant (`--config "$UNSET"`), what is
/// no number though C reads it as one, and a number that it would make another of without a word.
template <Value T>
std::string unusable(const std::string& value) {
    constexpr bool kUnsigned =
        std::same_as<T, unsigned> || std::same_as<T, std::uint64_t> ||
        std::same_as<T, std::optional<unsigned>> || std::same_as<T, std::optional<std::uint64_t>> ||
        std::same_as<T, std::vector<unsigned>> || std::same_as<T, std::vector<std::uint64_t>>;
    if constexpr (kUnsigned) {
        if (value.starts_with('-')) return "'" + value + "' is not a number from 0";
        std::uint64_t number = 0;
        const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
        if (read.ec == std::errc::result_out_of_range) return "'" + value + "' is too large";
    } else if constexpr (std::same_as<T, double> || std::same_as<T, std::optional<double>>) {
        double number = 0;
        if (CLI::detail::lexical_cast(value, number) && !std::isfinite(number))
            return "'" + value + "' is not a number";
    }
    return {};
}

/// CLI11's own sentences where they do not read well.
std::string reason_of(const CLI::ParseError& error) {
    std::string text = error.what();
    const auto replace = [&text](std::string_view old, std::string_view by) {
        const auto at = text.find(old);
        if (at != std::string::npos) text.replace(at, old.size(), by);
    };
    if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
        replace(" excludes ", " cannot be used with ");
    } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
        replace("A subcommand is required", "a command is required");
    } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr &&
               text.ends_with(" missing")) {
        text = text.substr(0, text.find(':')) + ": a value is missing";
    } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr &&
               text.find(": At Most 1 required") != std::string::npos) {
        text = text.substr(0, text.find(':')) + ": is given more than once";
    } else if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
        // "Could not convert: --seed = banana"
        replace("Could not convert: ", "");
        const auto equals = text.find(" = ");
        if (equals == std::string::npos) return "invalid value: " + text;
        return text.substr(0, equals) + ": '" + text.substr(equals + 3) + "' is not a number";
    }
    return text;
}

}  // namespace

Option* Option::required(bool is) {
    option_.required(is);
    return this;
}

Option* Option::one_of(std::vector<std::string> values) {
    const std::string shown = "{" + join(values, ",") + "}";
    const auto problem = [values = std::move(values)](const std::string& value) -> std::string {
        if (std::ranges::find(values, value) != values.end()) return {};
        return "'" + value + "' is not one of " + join(values);
    };
    option_.check(CLI::Validator(problem, shown));
    return this;
}

template <Value T>
Option* Option::range(T least, T most) {
    const CLI::Range range(least, most);
    std::ostringstream limits;
    limits << least << " to " << most;
    const auto problem = [range, limits = limits.str()](const std::string& value) {
        return range(value).empty() ? "" : "'" + value + "' is not a number from " + limits;
    };
    option_.check(CLI::Validator(problem, range.get_description()));
    return this;
}

Option* Option::existing_file() {
    option_.check(CLI::ExistingFile);
    return this;
}

Option* Option::check(std::function<std::string(const std::string&)> problem) {
    option_.check(CLI::Validator(
        [problem = std::move(problem)](std::string& value) { return problem(value); }, ""));
    return this;
}

Option* Option::transform(std::function<std::string(const std::string&)> change) {
    option_.transform([change = std::move(change)](std::string value) { return change(value); });
    return this;
}

Option* Option::excludes(Option* other) {
    option_.excludes(&other->option_);
    return this;
}

Option* Option::excludes(const std::string& name) {
    option_.excludes(name);
    return this;
}

Option* Option::needs(Option* other) {
    option_.needs(&other->option_);
    return this;
}

Option* Option::expected(int least, int most) {
    option_.expected(least, most);
    return this;
}

Option* Option::default_str(const std::string& value) {
    option_.default_str(value);
    return this;
}

Option* Option::capture_default_str() {
    option_.capture_default_str();
    return this;
}

Option* Option::delimiter(char between) {
    option_.delimiter(between);
    return this;
}

Option* Option::allow_extra_args(bool is) {
    option_.allow_extra_args(is);
    return this;
}

Option* Option::take_all() {
    option_.take_all();
    return this;
}

Option* Option::option_text(const std::string& text) {
    option_.option_text(text);
    return this;
}

Option* Option::type_name(const std::string& name) {
    option_.type_name(name);
    return this;
}

Option* Option::hidden() {
    option_.group("");
    return this;
}

Option* Option::complete_by(std::string candidates) {
    candidates_ = std::move(candidates);
    return this;
}

std::size_t Option::count() const { return option_.count(); }

std::string Option::name() const { return option_.get_name(); }

Command::Command(std::string description, const std::string& name)
    : owned_(std::make_unique<CLI::App>(std::move(description), name)), app_(*owned_) {
    app_.formatter(make_help());
}

Command::Command(CLI::App& app, const Command& parent) : app_(app), parent_(&parent) {}

Command::~Command() = default;

Command* Command::add_subcommand(const std::string& name, const std::string& description) {
    CLI::App& app = *app_.add_subcommand(name, description);
    commands_.push_back(std::unique_ptr<Command>(new Command(app, *this)));
    return commands_.back().get();
}

template <Value T>
Option* Command::add_option(const std::string& names, T& target, const std::string& description,
                            const std::string& shown) {
    CLI::Option& made = *app_.add_option(names, target, description);
    made.check(CLI::Validator(
        [&made](const std::string& value) {
            if (value.empty() && names_file(made)) return std::string("is empty; expected a path");
            return unusable<T>(value);
        },
        ""));
    Option& option = options_.emplace_back(made);
    return shown.empty() ? &option : option.option_text(shown);
}

Option* Command::add_flag(const std::string& names, bool& target, const std::string& description) {
    return &options_.emplace_back(*app_.add_flag(names, target, description));
}

void Command::set_help_flag(const std::string& names, const std::string& description) {
    app_.set_help_flag(names, description);
}

void Command::set_version_flag(const std::string& names, const std::string& version,
                               const std::string& description) {
    if (description.empty()) {
        app_.set_version_flag(names, version);
    } else {
        app_.set_version_flag(names, version, description);
    }
}

void Command::callback(std::function<void()> run) { app_.callback(std::move(run)); }

void Command::parse_complete_callback(std::function<void()> run) {
    app_.parse_complete_callback(std::move(run));
}

void Command::footer(const std::string& text) { app_.footer(text); }

void Command::footer(std::function<std::string()> text) { app_.footer(std::move(text)); }

void Command::require_subcommand(std::size_t least, std::size_t most) {
    app_.require_subcommand(least, most);
}

void Command::fallthrough() { app_.fallthrough(); }

template <class Run>
Parsed Command::parse_by(const Run& run) {
    using enum Parsed::Kind;
    try {
        run();
        return {};
    } catch (const CLI::CallForHelp&) {
        return {.kind = kHelp, .text = deepest().help(), .unwanted = {}};
    } catch (const CLI::CallForVersion& version) {
        return {.kind = kVersion, .text = std::string(version.what()) + '\n', .unwanted = {}};
    } catch (const CLI::ParseError& error) {
        // A wrong word explains better why something is missing than that it is.
        const bool by_word = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                             dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
        return {.kind = kWrong, .text = reason_of(error), .unwanted = by_word ? unwanted() : ""};
    }
}

Parsed Command::parse(int argc, const char* const* argv) {
    return parse_by([&] { app_.parse(argc, argv); });
}

Parsed Command::parse(const std::string& words) {
    return parse_by([&] { app_.parse(words); });
}

Parsed Command::parse(std::vector<std::string> words) {
    std::ranges::reverse(words);  // as CLI11 wants them
    return parse_by([&] { app_.parse(std::move(words)); });
}

std::string Command::unwanted() const {
    const auto extras = app_.remaining(true);
    return extras.empty() ? "" : extras.front();
}

const Command& Command::deepest() const {
    const auto understood = app_.get_subcommands();
    if (understood.empty()) return *this;
    const auto found = std::ranges::find_if(
        commands_, [&](const auto& one) { return &one->app_ == understood.back(); });
    return found == commands_.end() ? *this : (*found)->deepest();
}

std::string Command::path() const {
    return parent_ == nullptr ? name() : parent_->path() + ' ' + name();
}

std::string Command::name() const { return app_.get_name(); }

std::string Command::description() const { return app_.get_description(); }

std::string Command::help() const { return app_.help(); }

std::string Command::examples() const { return app_.get_footer(); }

std::string Command::usage() const {
    std::string text = path();
    if (!commands().empty()) text += " COMMAND";
    return text + usage_of(app_);
}

void Command::hide() { app_.group(""); }

bool Command::hidden() const { return app_.get_group().empty(); }

std::vector<const Command*> Command::commands() const {
    std::vector<const Command*> all;
    for (const auto& one : commands_) {
        if (!one->hidden()) all.push_back(one.get());
    }
    return all;
}

std::vector<Description> Command::options() const {
    std::vector<Description> all;
    const CLI::App& app = app_;
    for (const CLI::Option* option : app.get_options()) {
        Description& one = all.emplace_back();
        if (option->nonpositional()) {
            for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
            for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
        }
        one.text = option->get_description();
        one.takes_value = option->get_items_expected_max() > 0;
        one.choices = choices_of(*option);
        const auto ours = std::ranges::find_if(
            options_, [option](const Option& made) { return &made.option_ == option; });
        if (ours != options_.end()) one.candidates = ours->candidates_;
        one.visible = !option->get_group().empty();
        if (one.takes_value) one.shown = value_of(*option);
        if (one.names.empty()) one.shown = option->get_name(true);
    }
    return all;
}

#define ALIQUOT_VALUE(...)                                                                     \
    template Option* Command::add_option(const std::string&, __VA_ARGS__&, const std::string&, \
                                         const std::string&)
ALIQUOT_VALUE(std::string);
ALIQUOT_VALUE(int);
ALIQUOT_VALUE(unsigned);
ALIQUOT_VALUE(std::int64_t);
ALIQUOT_VALUE(std::uint64_t);
ALIQUOT_VALUE(double);
ALIQUOT_VALUE(std::filesystem::path);
ALIQUOT_VALUE(std::optional<std::string>);
ALIQUOT_VALUE(std::optional<int>);
ALIQUOT_VALUE(std::optional<unsigned>);
ALIQUOT_VALUE(std::optional<std::uint64_t>);
ALIQUOT_VALUE(std::optional<double>);
ALIQUOT_VALUE(std::vector<std::string>);
ALIQUOT_VALUE(std::vector<int>);
ALIQUOT_VALUE(std::vector<unsigned>);
ALIQUOT_VALUE(std::vector<std::int64_t>);
ALIQUOT_VALUE(std::vector<std::uint64_t>);
#undef ALIQUOT_VALUE
template Option* Option::range(int, int);
template Option* Option::range(unsigned, unsigned);
template Option* Option::range(std::int64_t, std::int64_t);
template Option* Option::range(std::uint64_t, std::uint64_t);
template Option* Option::range(double, double);

}  // namespace aliquot::command_line
