// SPDX-License-Identifier: Apache-2.0
#include "syntax/words.h"

#include <algorithm>

namespace aliquot::syntax {

namespace {

bool is_word_char(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

}  // namespace

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

}  // namespace aliquot::syntax
