// SPDX-License-Identifier: Apache-2.0
#include "syntax/clean_text.h"

#include <algorithm>

#include "syntax/words.h"

namespace aliquot::syntax {
namespace {

/// Bytes of the UTF-8 character that begins at `at`; 0: there is none.
std::size_t character_length(std::string_view text, std::size_t at) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(at);
    if (first < 0x80U) return 1;
    const std::size_t length = first >= 0xf5U   ? 0
                               : first >= 0xf0U ? 4
                               : first >= 0xe0U ? 3
                               : first >= 0xc2U ? 2
                                                : 0;
    if (length == 0 || at + length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(at + i) & 0xc0U) != 0x80U) return 0;
    }
    // Overlong forms, surrogates, above U+10FFFF: their second byte tells.
    const unsigned char second = byte(at + 1);
    const bool bad = (first == 0xe0U && second < 0xa0U) || (first == 0xedU && second > 0x9fU) ||
                     (first == 0xf0U && second < 0x90U) || (first == 0xf4U && second > 0x8fU);
    return bad ? 0 : length;
}

}  // namespace

std::string clean_text(std::string_view bytes) {
    std::string text(bytes);
    for (std::size_t i = 0; i < text.size();) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c == '\r') {
            text[i++] = ' ';
        } else if (c < 0x20U && c != '\n' && c != '\t') {
            text[i++] = '?';
        } else if (c == 0x7fU) {
            text[i++] = '?';
        } else if (const std::size_t length = character_length(text, i); length > 0) {
            // NEL, LINE SEPARATOR and the like are line breaks for YAML and for nobody else; C1
            // controls and the byte order mark are refused.
            const std::string_view character = std::string_view(text).substr(i, length);
            const bool control =
                length == 2 && c == 0xc2U && static_cast<unsigned char>(text[i + 1]) < 0xa0U;
            if (control || character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9" ||
                character == kByteOrderMark || character == "\xef\xbf\xbe" ||
                character == "\xef\xbf\xbf") {
                std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(i), length, '?');
            }
            i += length;
        } else {
            text[i++] = '?';
        }
    }
    return text;
}

}  // namespace aliquot::syntax
