// SPDX-License-Identifier: Apache-2.0
#include "trace/json_text.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace aliquot::trace {
namespace {

/// Bytes of the UTF-8 character that begins a text; 0 when none does.
std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::size_t length = byte(0) < 0x80U                       ? 1
                               : byte(0) >= 0xC2U && byte(0) < 0xE0U ? 2
                               : byte(0) >= 0xE0U && byte(0) < 0xF0U ? 3
                               : byte(0) >= 0xF0U && byte(0) < 0xF5U ? 4
                                                                     : 0;
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return 0;
    }
    // Overlong forms, surrogates and what lies beyond Unicode.
    if (length == 3 && byte(0) == 0xE0U && byte(1) < 0xA0U) return 0;
    if (length == 3 && byte(0) == 0xEDU && byte(1) >= 0xA0U) return 0;
    if (length == 4 && byte(0) == 0xF0U && byte(1) < 0x90U) return 0;
    if (length == 4 && byte(0) == 0xF4U && byte(1) >= 0x90U) return 0;
    return length;
}

}  // namespace

std::string json_quote(std::string_view text) {
    std::string json = "\"";
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        const char c = text.front();
        if (length == 0) {
            json += "\\ufffd";
        } else if (c == '"' || c == '\\') {
            json += '\\';
            json += c;
        } else if (static_cast<unsigned char>(c) < 0x20U || c == 0x7F) {
            std::array<char, 8> code{};
            std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
            json += code.data();
        } else {
            json += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return json + '"';
}

std::string fixed_text(double value, int decimals) {
    std::array<char, 64> text{};
    if (!std::isfinite(value) || std::abs(value) > 1e18) value = 0;
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return text.data();
}

std::string decimal_text(double value, int decimals) {
    std::string text = fixed_text(value, decimals);
    if (text.find('.') != std::string::npos) {
        while (text.back() == '0') text.pop_back();
        if (text.back() == '.') text.pop_back();
    }
    return text == "-0" ? "0" : text;
}

}  // namespace aliquot::trace
