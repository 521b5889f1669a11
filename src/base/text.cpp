// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>

namespace aliquot {
namespace {

bool same_folded(char a, char b) { return lower(a) == lower(b); }

}  // namespace

std::string lower(std::string_view text) {
    std::string low(text);
    for (char& c : low) c = lower(c);
    return low;
}

bool equals_folded(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_folded);
}

bool starts_with_folded(std::string_view text, std::string_view part) {
    return equals_folded(text.substr(0, part.size()), part);
}

std::size_t find_folded(std::string_view text, std::string_view part, std::size_t from) {
    if (part.empty()) return std::min(from, text.size());
    const char low = lower(part.front());
    const char high = low >= 'a' && low <= 'z' ? static_cast<char>(low - 32) : low;
    std::size_t next_low = text.find(low, from);
    std::size_t next_high = high == low ? std::string_view::npos : text.find(high, from);
    while (true) {
        const std::size_t at = std::min(next_low, next_high);
        if (at == std::string_view::npos || part.size() > text.size() - at) {
            return std::string_view::npos;
        }
        if (equals_folded(text.substr(at, part.size()), part)) return at;
        if (at == next_low) {
            next_low = text.find(low, at + 1);
        } else {
            next_high = text.find(high, at + 1);
        }
    }
}

bool contains_folded(std::string_view text, std::string_view part) {
    return find_folded(text, part) != std::string_view::npos;
}

std::string_view trim(std::string_view text, std::string_view blanks) {
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
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

std::vector<std::string_view> split_list(std::string_view text, char separator) {
    std::vector<std::string_view> parts = split(text, separator);
    for (std::string_view& part : parts) part = trim(part);
    std::erase(parts, std::string_view());
    return parts;
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (true) {
        const auto begin = text.find_first_not_of(kBlanks);
        if (begin == std::string_view::npos) return words;
        text.remove_prefix(begin);
        const auto end = std::min(text.find_first_of(kBlanks), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

std::vector<std::string_view> lines_of(std::string_view text) {
    if (text.ends_with('\n'))
        text.remove_suffix(1);
    else if (text.empty())
        return {};
    return split(text, '\n');
}

void for_each_line(std::string_view text,
                   const std::function<void(std::string_view line, unsigned number)>& each) {
    for (unsigned number = 1; !text.empty(); ++number) {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        each(line, number);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

std::string_view after(std::string_view text, std::string_view mark) {
    const auto found = text.find(mark);
    return found == std::string_view::npos ? std::string_view{} : text.substr(found + mark.size());
}

std::string concat(std::initializer_list<std::string_view> parts) { return join(parts, ""); }

std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned head = byte(0);
    if (head < 0x80U) return 1;
    if (head < 0xC2U || head > 0xF4U) return 0;
    const std::size_t length = head >= 0xF0U ? 4 : head >= 0xE0U ? 3 : 2;
    if (text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return 0;
    }
    const bool overlong = (head == 0xE0U && byte(1) < 0xA0U) || (head == 0xF0U && byte(1) < 0x90U);
    const bool beyond = (head == 0xEDU && byte(1) > 0x9FU) || (head == 0xF4U && byte(1) > 0x8FU);
    return overlong || beyond ? 0 : length;
}

void append_utf8(std::string& out, char32_t code) {
    const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80U) {
        put(code);
        return;
    }
    if (code < 0x800U) {
        put(0xC0U | code >> 6U);
    } else if (code < 0x10000U) {
        put(0xE0U | code >> 12U);
        put(0x80U | (code >> 6U & 0x3FU));
    } else {
        put(0xF0U | code >> 18U);
        put(0x80U | (code >> 12U & 0x3FU));
        put(0x80U | (code >> 6U & 0x3FU));
    }
    put(0x80U | (code & 0x3FU));
}

}  // namespace aliquot
