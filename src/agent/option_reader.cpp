// SPDX-License-Identifier: Apache-2.0
#include "agent/option_reader.h"

#include <sstream>

#include "base/number.h"
#include "command_line/command.h"

namespace aliquot::agent {

const Words<bool>& booleans() {
    static const Words<bool> words{{"true", true},   {"false", false}, {"1", true},
                                   {"0", false},     {"t", true},      {"f", false},
                                   {"T", true},      {"F", false},     {"TRUE", true},
                                   {"FALSE", false}, {"True", true},   {"False", false}};
    return words;
}

void refuse_word(const std::string& name, const std::string& text, const std::string& expected) {
    refuse_option(name, "'" + text + "' is not one of " + expected);
}

void refuse_option(const std::string& name, const std::string& reason) {
    throw command_line::UsageError(name, reason);
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');) {
        if (!part.empty()) parts.push_back(part);
    }
    return parts;
}

void Reader::add(const std::string& flags, std::vector<std::string> variables,
                 const std::string& help, Set set, bool boolean) {
    entries_.push_back({.set = std::move(set), .variables = std::move(variables)});
    Entry& entry = entries_.back();
    std::string text = help;
    if (!entry.variables.empty()) text += " [" + entry.variables.front() + "]";
    entry.option = app_.add_option(flags, entry.values, text);
    entry.option->allow_extra_args(false)->take_all();
    entry.option->option_text(boolean ? "[BOOL]" : "VALUE");
    if (boolean) entry.option->expected(0, 1);
}

void Reader::finish() {
    for (Entry& entry : entries_) {
        if (entry.option->count() > 0) {
            const std::string name = entry.option->name();
            std::string joined;
            for (const std::string& value : entry.values) {
                joined += (joined.empty() ? "" : ",") + value;
            }
            entry.set(name, joined.empty() ? "true" : joined);
            continue;
        }
        for (const std::string& variable : entry.variables) {
            const auto found = environment_.find(variable);
            if (found == environment_.end() || found->second.empty()) continue;
            entry.set(variable, found->second);
            break;
        }
    }
}

void Reader::boolean(const std::string& flag, const std::string& help, bool& target) {
    add(
        flag, {}, help,
        [&target](const std::string& name, const std::string& text) {
            target = word_value(booleans(), name, text);
        },
        true);
}

void Reader::milliseconds(const std::string& flags, const std::string& help,
                          std::chrono::milliseconds& target) {
    add(flags, {}, help, [&target](const std::string& name, const std::string& value) {
        constexpr unsigned kMost = 24U * 3600U * 1000U;
        const auto number = parse_number<unsigned>(value);
        if (!number || *number < 10 || *number > kMost) {
            refuse_option(name, "'" + value + "' is not a number of milliseconds from 10 to a day");
        }
        target = std::chrono::milliseconds(*number);
    });
}

}  // namespace aliquot::agent
