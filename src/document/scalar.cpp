// SPDX-License-Identifier: Apache-2.0
#include "document/scalar.h"

#include <algorithm>

#include "base/text.h"

namespace aliquot::document {
namespace {

bool all_digits(std::string_view text, unsigned base) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [base](char c) {
        if (base == 8) return c >= '0' && c <= '7';
        const char lower = static_cast<char>(c | 0x20);
        return is_digit(c) || (base == 16 && lower >= 'a' && lower <= 'f');
    });
}

std::string_view without_sign(std::string_view text) {
    if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
    return text;
}

bool is_integer(std::string_view text) {
    if (text.substr(0, 2) == "0x") return all_digits(text.substr(2), 16);
    if (text.substr(0, 2) == "0o") return all_digits(text.substr(2), 8);
    return all_digits(without_sign(text), 10);
}

bool is_float(std::string_view text) {
    text = without_sign(text);
    if (text == ".inf" || text == ".Inf" || text == ".INF") return true;
    if (text == ".nan" || text == ".NaN" || text == ".NAN") return true;
    std::size_t at = 0;
    std::size_t digits = 0;
    bool point = false;
    for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
        if (text[at] == '.') {
            point = true;
        } else {
            ++digits;
        }
    }
    if (digits == 0) return false;
    if (at == text.size()) return true;
    if (text[at] != 'e' && text[at] != 'E') return false;
    return all_digits(without_sign(text.substr(at + 1)), 10);
}

}  // namespace

Value::Kind resolve_plain(std::string_view text) {
    using enum Value::Kind;
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
        return kNull;
    }
    for (const auto* word : {"true", "True", "TRUE", "false", "False", "FALSE"}) {
        if (text == word) return kBool;
    }
    if (is_integer(text)) return kInteger;
    return is_float(text) ? kFloat : kString;
}

bool is_json_number(std::string_view word) {
    const auto digits = [&word] {
        const std::size_t count = std::min(word.find_first_not_of("0123456789"), word.size());
        word.remove_prefix(count);
        return count;
    };
    if (word.starts_with('-')) word.remove_prefix(1);
    const bool zero = word.starts_with('0');
    const std::size_t whole = digits();
    bool good = whole == 1 || (whole > 1 && !zero);
    if (word.starts_with('.')) {
        word.remove_prefix(1);
        good = digits() > 0 && good;
    }
    if (word.starts_with('e') || word.starts_with('E')) {
        word.remove_prefix(1);
        if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
        good = digits() > 0 && good;
    }
    return good && word.empty();
}

}  // namespace aliquot::document
