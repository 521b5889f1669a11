// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/numbers_in_text.h"

#include <string>

#include "base/number.h"
#include "base/text.h"
#include "lint/words.h"

namespace aliquot::lint {
std::vector<NumberInText> numbers_in(std::string_view text) {
    std::vector<NumberInText> numbers;
    for (std::size_t at = 0; at < text.size() && numbers.size() < 50;) {
        if (!is_digit(text[at])) {
            ++at;
            continue;
        }
        NumberInText number;
        number.begin = at;
        std::string digits;
        while (at < text.size() &&
               (is_digit(text[at]) || ((text[at] == ',' || text[at] == '.') &&
                                       at + 1 < text.size() && is_digit(text[at + 1])))) {
            if (text[at] != ',') {
                digits += text[at];
            }
            ++at;
        }
        number.end = at;
        if (const auto value = parse_number<double>(digits)) {
            number.value = *value;
            numbers.push_back(number);
        }
    }
    return numbers;
}

std::optional<double> number_of(std::string_view text, std::string_view word) {
    const auto folded = lower(text);
    const auto at = folded.find(word);
    if (at == std::string::npos || folded.find(word, at + 1) != std::string::npos) {
        return std::nullopt;
    }
    const auto end = at + word.size();
    for (const auto& number : numbers_in(text)) {
        const bool before = number.end <= at && at - number.end <= 2;
        const auto between = number.begin >= end ? text.substr(end, number.begin - end)
                                                 : std::string_view("far away");
        const bool behind =
            between.size() <= 6 && between.find_first_not_of(" :*|=\t`s") == std::string_view::npos;
        if (before || behind) {
            return number.value;
        }
    }
    return std::nullopt;
}

}  // namespace aliquot::lint
