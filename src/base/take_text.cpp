// SPDX-License-Identifier: Apache-2.0
#include "base/take_text.h"

#include <algorithm>

#include "base/text.h"

namespace aliquot {

std::string_view take_until(std::string_view& text, char mark) {
    const auto end = std::min(text.find(mark), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

std::string_view take_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    text.remove_prefix(word.size());
    return word;
}

}  // namespace aliquot
