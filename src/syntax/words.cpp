// SPDX-License-Identifier: Apache-2.0
#include "syntax/words.h"

#include <algorithm>

namespace aliquot::syntax {
namespace {

char lower_char(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Looks for the first byte in either case with memchr, then compares: every rule asks this often.
std::size_t find_folded(std::string_view text, std::string_view part, std::size_t from) {
    if (part.empty()) return std::min(from, text.size());
    const char low = lower_char(part.front());
    const char high = low >= 'a' && low <= 'z' ? static_cast<char>(low - 'a' + 'A') : low;
    std::size_t next_low = text.find(low, from);
    std::size_t next_high = high == low ? std::string_view::npos : text.find(high, from);
    while (true) {
        const std::size_t at = std::min(next_low, next_high);
        if (at == std::string_view::npos || part.size() > text.size() - at) {
            return std::string_view::npos;
        }
        std::size_t same = 1;
        while (same < part.size() && lower_char(text[at + same]) == lower_char(part[same])) ++same;
        if (same == part.size()) return at;
        if (at == next_low) {
            next_low = text.find(low, at + 1);
        } else {
            next_high = text.find(high, at + 1);
        }
    }
}

}  // namespace

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), lower_char);
    return result;
}

bool contains_word(std::string_view text, std::string_view word) {
    if (word.empty()) return false;
    for (std::size_t at = 0; (at = find_folded(text, word, at)) != std::string_view::npos; ++at) {
        const bool begins = at == 0 || !is_word_char(text[at - 1]) || !is_word_char(word.front());
        const std::size_t end = at + word.size();
        const bool ends =
            end == text.size() || !is_word_char(text[end]) || !is_word_char(word.back());
        if (begins && ends) return true;
    }
    return false;
}

bool contains(std::string_view text, std::string_view part) {
    return part.empty() || find_folded(text, part, 0) != std::string_view::npos;
}

bool starts_with(std::string_view text, std::string_view part) {
    return text.substr(0, part.size()) == part;
}

bool ends_with(std::string_view text, std::string_view part) {
    return text.size() >= part.size() && text.substr(text.size() - part.size()) == part;
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const auto end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

}  // namespace aliquot::syntax
