// SPDX-License-Identifier: Apache-2.0
#include "document/text_check.h"

#include <array>
#include <cstdio>

namespace aliquot::document {
namespace {

/// The length of the UTF-8 sequence at the start of `text`; 0 when it is none (too long forms,
/// surrogates and values above U+10FFFF are none).
std::size_t utf8_length(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80U) return 1;
    const std::size_t length = first >= 0xf0U ? 4 : first >= 0xe0U ? 3 : 2;
    if (first < 0xc2U || first > 0xf4U || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) return 0;
    }
    const unsigned second = byte(1);
    if ((first == 0xe0U && second < 0xa0U) || (first == 0xedU && second >= 0xa0U) ||
        (first == 0xf0U && second < 0x90U) || (first == 0xf4U && second >= 0x90U)) {
        return 0;
    }
    return length;
}

bool is_forbidden(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0x7fU || (byte < 0x20U && c != '\t' && c != '\n' && c != '\r');
}

std::string hex(char c) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "0x%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    return text.data();
}

}  // namespace

std::optional<SyntaxError> find_forbidden_byte(std::string_view text) {
    Mark mark{1, 1};
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (is_forbidden(c)) {
            return SyntaxError{mark, "the byte " + hex(c) + " is not allowed in YAML"};
        }
        const std::size_t length = utf8_length(text.substr(at, 4));
        if (length == 0) {
            return SyntaxError{mark, "the byte " + hex(c) + " is no UTF-8: save the file as UTF-8"};
        }
        at += length;
        mark.column += static_cast<unsigned>(length);
        if (c == '\n') mark = {mark.line + 1, 1};
    }
    return std::nullopt;
}

std::string_view line_of(std::string_view text, unsigned line) {
    for (unsigned at = 1; at < line; ++at) {
        const auto end = text.find('\n');
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + 1);
    }
    text = text.substr(0, text.find('\n'));
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    return text;
}

std::string tab_message(unsigned line) {
    return "tab in the indentation at line " + std::to_string(line) + ": YAML wants spaces";
}

Mark find_tab_indent(std::string_view text, unsigned line) {
    const std::string_view content = line_of(text, line);
    const auto tab = content.find_first_not_of(' ');
    if (tab == std::string_view::npos || content[tab] != '\t') return {};
    return {line, static_cast<unsigned>(tab) + 1};
}

}  // namespace aliquot::document
