// SPDX-License-Identifier: Apache-2.0
#include "syntax/unit_file.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace aliquot::syntax {
namespace {

constexpr std::size_t kMostLines = 10'000;
constexpr std::size_t kMostWords = 1'000;

bool is_comment(std::string_view line) {
    return line.empty() || line.front() == '#' || line.front() == ';';
}

/// "Service" of "[Service]"; empty: the line is no head.
std::string_view head_of(std::string_view line) {
    if (line.size() < 3 || line.front() != '[' || line.back() != ']') return {};
    return line.substr(1, line.size() - 2);
}

bool is_key(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return is_letter(c) || is_digit(c) || c == '-' || c == '_';
    });
}

/// The value in its lines: from `at` on, past continued lines and the comments between them.
std::string take_value(std::string_view text, std::size_t& at) {
    std::string value;
    for (bool first = true;; first = false) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = trim(text.substr(at, end - at));
        at = std::min(end + 1, text.size());
        if (!first && is_comment(line) && at < text.size()) continue;
        const bool goes_on = !line.empty() && line.back() == '\\';
        if (goes_on) line = trim(line.substr(0, line.size() - 1));
        if (!value.empty() && !line.empty()) value += ' ';
        value += line;
        if (!goes_on || at >= text.size()) return value;
    }
}

}  // namespace

bool looks_like_unit(std::string_view text) {
    constexpr std::array<std::string_view, 3> kHeads{"[Unit]", "[Service]", "[Install]"};
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = trim(text.substr(at, end - at));
        if (!is_comment(line)) {
            return std::find(kHeads.begin(), kHeads.end(), line) != kHeads.end();
        }
        at = end + 1;
    }
    return false;
}

std::vector<UnitLine> read_unit(std::string_view text) {
    std::vector<UnitLine> lines;
    std::string section;
    for (std::size_t at = 0; at < text.size() && lines.size() < kMostLines;) {
        const std::size_t begin = at;
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = trim(text.substr(at, end - at));
        at = std::min(end + 1, text.size());
        if (is_comment(line)) continue;
        if (const std::string_view head = head_of(line); !head.empty()) {
            section = head;
            continue;
        }
        const std::size_t equals = line.find('=');
        if (section.empty() || equals == std::string_view::npos) continue;
        const std::string_view key = trim(line.substr(0, equals));
        if (!is_key(key)) continue;
        const std::size_t place = text.find(key, begin);
        std::size_t value = text.find('=', place) + 1;
        std::string taken = take_value(text, value);
        at = value;
        lines.push_back({section, std::string(key), std::move(taken), place});
    }
    return lines;
}

std::vector<std::string> unit_words(std::string_view value) {
    std::vector<std::string> words;
    std::string word;
    bool begun = false;
    char quote = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
        const char c = value[i];
        if (c == '\\' && i + 1 < value.size()) {
            word += value[++i];
            begun = true;
        } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
            quote = quote != 0 ? 0 : c;
            begun = true;
        } else if (quote == 0 && is_blank(c)) {
            if (begun) words.push_back(std::move(word));
            word.clear();
            begun = false;
            if (words.size() >= kMostWords) return words;
        } else {
            word += c;
            begun = true;
        }
    }
    if (begun) words.push_back(std::move(word));
    return words;
}

}  // namespace aliquot::syntax
