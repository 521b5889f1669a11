// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace aliquot::command_line {
class Command;
class Option;
}  // namespace aliquot::command_line

namespace aliquot::agent {

struct ClaimOptions;
struct ClusterOptions;
struct Options;
struct TelemetryOptions;
using Environment = std::map<std::string, std::string>;

template <class T>
using Words = std::vector<std::pair<std::string, T>>;
const Words<bool>& booleans();

/// Throws the UsageError that read_options() catches: "--flag: 'x' is not one of a, b".
[[noreturn]] void refuse_word(const std::string& name, const std::string& text,
                              const std::string& expected);
/// The same with any reason.
[[noreturn]] void refuse_option(const std::string& name, const std::string& reason);

template <class T>
T word_value(const Words<T>& words, const std::string& name, const std::string& text) {
    std::string expected;
    for (const auto& [word, value] : words) {
        if (word == text) return value;
        if (expected.size() < 80) expected += (expected.empty() ? "" : ", ") + word;
    }
    refuse_word(name, text, expected);
}

/// The parts of a comma list that are not empty.
std::vector<std::string> split(const std::string& text);

/// Collects what is said by flag or, if no flag said it, by one of the variables.
class Reader {
public:
    using Set = std::function<void(const std::string& name, const std::string& text)>;

    Reader(command_line::Command& app, const Environment& environment)
        : app_(app), environment_(environment) {}

    /// One option: `flags` as "-o,--output", `variables` in order of precedence.
    void add(const std::string& flags, std::vector<std::string> variables, const std::string& help,
             Set set, bool boolean = false);

    /// After the command line was parsed.
    void finish();

    template <class T>
    void word(const std::string& flags, std::vector<std::string> variables, const std::string& help,
              const Words<T>& words, std::optional<T>& target) {
        add(
            flags, std::move(variables), help,
            [&words, &target](const std::string& name, const std::string& text) {
                target = word_value(words, name, text);
            },
            std::is_same_v<T, bool>);
    }

    template <class Target>  // std::string, or an optional one
    void text(const std::string& flags, std::vector<std::string> variables, const std::string& help,
              Target& target) {
        add(flags, std::move(variables), help,
            [&target](const std::string&, const std::string& value) { target = value; });
    }

    void boolean(const std::string& flag, const std::string& help, bool& target);
    void milliseconds(const std::string& flags, const std::string& help,
                      std::chrono::milliseconds& target);

private:
    struct Entry {
        Set set;
        std::vector<std::string> variables;
        std::vector<std::string> values;
        command_line::Option* option = nullptr;
    };
    command_line::Command& app_;
    const Environment& environment_;
    std::list<Entry> entries_;  // the command keeps addresses of `values`
};

// Parts of the command line.
void add_claim_options(Reader& reader, ClaimOptions& claims);
void add_cluster_options(Reader& reader, ClusterOptions& cluster);
void add_label_options(Reader& reader, Options& options);
void add_telemetry_options(Reader& reader, TelemetryOptions& telemetry);

}  // namespace aliquot::agent
