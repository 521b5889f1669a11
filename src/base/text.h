// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// Plain text, in bytes and ASCII: no function looks at the locale. Pure. Views point into the argument.
namespace aliquot {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
std::string lower(std::string_view text);
/// The value of a hexadecimal digit in either case; -1: it is none.
constexpr int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    return lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

/// "Folded": letters in either case are the same.
bool equals_folded(std::string_view a, std::string_view b);
bool starts_with_folded(std::string_view text, std::string_view part);
bool contains_folded(std::string_view text, std::string_view part);
/// Where the first `part` at or after `from` begins, or npos. Searches with memchr: rules that look for
/// a hundred words in every line live on it.
std::size_t find_folded(std::string_view text, std::string_view part, std::size_t from = 0);

std::string_view trim(std::string_view text, std::string_view blanks = kBlanks);

/// All parts, empty ones too; an empty text is one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);
/// What a user writes as a list: blanks around the parts do not count, empty parts neither.
std::vector<std::string_view> split_list(std::string_view text, char separator = ',');
/// The words between blanks.
std::vector<std::string_view> words_of(std::string_view text);
/// The lines without their breaks ("\n"); a break at the end begins no line.
std::vector<std::string_view> lines_of(std::string_view text);
/// Calls `each` with every line and its number from 1; here "\r\n" is a break too.
void for_each_line(std::string_view text,
                   const std::function<void(std::string_view line, unsigned number)>& each);
// The parts of a text that is gone at the end of the line would hang in the air.
template <std::same_as<std::string> Text>
std::vector<std::string_view> split(Text&& text, char separator) = delete;
template <std::same_as<std::string> Text>
std::vector<std::string_view> split_list(Text&& text, char separator = ',') = delete;
template <std::same_as<std::string> Text>
std::vector<std::string_view> words_of(Text&& text) = delete;
template <std::same_as<std::string> Text>
std::vector<std::string_view> lines_of(Text&& text) = delete;

/// What stands after the first `mark`; empty when it is not there.
std::string_view after(std::string_view text, std::string_view mark);

/// "a, b, c". Parts: whatever a std::string takes with +=.
template <class Parts>
std::string join(const Parts& parts, std::string_view separator = ", ") {
    std::string text;
    bool first = true;
    for (const auto& part : parts) {
        if (!first) text += separator;
        first = false;
        text += part;
    }
    return text;
}
/// The parts one behind the other.
std::string concat(std::initializer_list<std::string_view> parts);

/// Bytes of the UTF-8 character at the front of a text that is not empty; 0: there is none (cut off,
/// overlong, a surrogate, beyond Unicode).
std::size_t utf8_length(std::string_view text);
/// Appends a code point, which is one of Unicode.
void append_utf8(std::string& out, char32_t code);

}  // namespace aliquot
