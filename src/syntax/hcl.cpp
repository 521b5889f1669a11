// SPDX-License-Identifier: Apache-2.0
#include "syntax/hcl.h"

#include <algorithm>
#include <cctype>

#include "syntax/words.h"

namespace aliquot::syntax {
namespace {

/// The word behind `<<` or `<<-` at the end of a line; empty: there is none.
std::string_view delimiter_of(std::string_view line) {
    const auto at = line.rfind("<<");
    if (at == std::string_view::npos || (at > 0 && line[at - 1] == '<')) return {};
    std::string_view word = trim(line.substr(at + 2));
    if (word.starts_with("-")) word.remove_prefix(1);
    if (word.empty()) return {};
    for (const char c : word) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return {};
    }
    return word;
}

/// Where the bracket at `open` is closed, strings passed over; npos: not within the text, or the
/// value computes something, which no reader of YAML knows.
std::size_t end_of_value(std::string_view text, std::size_t open) {
    constexpr std::size_t kNone = std::string_view::npos;
    constexpr std::size_t kLongest = 32U << 10U;
    int level = 0;
    const std::size_t end = std::min(text.size(), open + kLongest);
    for (std::size_t i = open; i < end; ++i) {
        const char c = text[i];
        if (c == '"') {
            for (++i; i < end && text[i] != '"' && text[i] != '\n'; ++i) {
                if (text[i] == '\\') ++i;
            }
            if (i >= end || text[i] != '"') return kNone;
        } else if (c == '#' || text.substr(i, 2) == "//") {
            i = std::min(text.find('\n', i), end);
        } else if (c == '?' || text.substr(i, 2) == "<<" || text.substr(i, 4) == "for " ||
                   text.substr(i, 2) == "=>") {
            return kNone;
        } else if (c == '{' || c == '[' || c == '(') {
            ++level;
        } else if ((c == '}' || c == ']' || c == ')') && --level == 0) {
            return i + 1;
        }
    }
    return kNone;
}

/// `{ a = 1 }` as YAML writes it: `{ a: 1 }`. Lines stay lines, references become placeholders; empty: it
/// computes something.
std::string as_flow(std::string_view value) {
    constexpr std::string_view kNameBytes =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    std::string text;
    text.reserve(value.size() + value.size() / 8);
    for (std::size_t i = 0; i < value.size(); ++i) {
        const char c = value[i];
        if (c == '"') {
            const std::size_t begin = i;
            for (++i; i < value.size() && value[i] != '"'; ++i) {
                if (value[i] == '\\') ++i;
            }
            text += value.substr(begin, i + 1 - begin);
        } else if (c == '#' || value.substr(i, 2) == "//") {
            i = std::min(value.find('\n', i), value.size()) - 1;
        } else if (std::string_view("(+*!&|<>%").find(c) != std::string_view::npos ||
                   value.substr(i, 2) == "==") {
            return {};
        } else if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') {
            const std::size_t end = std::min(value.find_first_not_of(kNameBytes, i), value.size());
            const std::string_view name = value.substr(i, end - i);
            const bool reference = name.find('.') != std::string_view::npos;
            if (reference && value.substr(end, 1) == "[") return {};
            text += reference ? "$" + std::string(name) : std::string(name);
            i = end - 1;
        } else if (c == '=') {
            text += ':';
            if (value.substr(i + 1, 1) != " ") text += ' ';
        } else if (c == '\n') {
            const auto last = text.find_last_not_of(" \n");
            const bool open = last == std::string::npos || text[last] == '{' || text[last] == '[' ||
                              text[last] == ',' || text[last] == ':';
            text += open ? "\n" : ",\n";
        } else {
            text += c;
        }
    }
    return text;
}

/// Values written in HCL's own form: `yamlencode({ ... })`, `manifest = { ... }`.
void add_encoded(std::string_view text, std::vector<Enclosed>& found) {
    constexpr std::size_t kMostTries = 300;
    constexpr std::string_view kManifest = "manifest";
    std::size_t tries = 0;
    for (const std::string_view word :
         {std::string_view("yamlencode("), std::string_view("jsonencode("), kManifest}) {
        for (std::size_t at = text.find(word); at != std::string_view::npos && tries < kMostTries;
             at = text.find(word, at + 1)) {
            std::size_t open = text.find_first_not_of(" \n", at + word.size());
            if (word == kManifest && open != std::string_view::npos && text[open] == '=') {
                open = text.find_first_not_of(' ', open + 1);
            }
            if (open == std::string_view::npos || text[open] != '{') continue;
            const std::size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0
            const std::string_view before = trim(text.substr(line, at - line));
            if (before.starts_with("#") || before.starts_with("//")) continue;
            ++tries;
            const std::size_t end = end_of_value(text, open);
            if (end == std::string_view::npos) continue;
            Enclosed enclosed;
            enclosed.setting = Setting::kArgument;
            enclosed.text = as_flow(text.substr(open, end - open));
            enclosed.offset = open;
            enclosed.yaml = true;
            if (!enclosed.text.empty()) found.push_back(std::move(enclosed));
        }
    }
}

}  // namespace

std::vector<Enclosed> read_hcl_texts(const Block& block) {
    constexpr std::size_t kMost = 1'000;
    std::vector<Enclosed> found;
    add_encoded(block.text, found);
    const std::string_view text = block.text;
    std::string_view delimiter;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size() && found.size() < kMost;) {
        const auto end = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, end - at);
        if (delimiter.empty()) {
            delimiter = delimiter_of(line);
            begin = std::min(end + 1, text.size());
        } else if (trim(line) == delimiter) {
            Enclosed enclosed;
            enclosed.text = std::string(text.substr(begin, at - begin));
            enclosed.offset = begin;
            if (!enclosed.text.empty()) found.push_back(std::move(enclosed));
            delimiter = {};
        }
        at = end + 1;
    }
    return found;
}

}  // namespace aliquot::syntax
