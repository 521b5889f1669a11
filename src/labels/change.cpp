// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "labels/labels.h"

namespace aliquot::labels {
namespace {

constexpr std::size_t kLongest = 63;

bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

}  // namespace

std::string label_value(std::string_view text) {
    std::string value;
    bool blank = false;
    for (const char c : text) {
        if (c == ' ' || c == '\t' || c == '\n') {
            blank = true;
        } else if (is_letter_or_digit(c) || c == '-' || c == '_' || c == '.') {
            if (blank && !value.empty()) value += '-';
            blank = false;
            value += c;
        }
    }
    if (value.size() > kLongest) value.resize(kLongest);
    while (!value.empty() && !is_letter_or_digit(value.back())) value.pop_back();
    std::size_t skip = 0;
    while (skip < value.size() && !is_letter_or_digit(value[skip])) ++skip;
    return value.substr(skip);
}

Change change_labels(const Labels& present, const std::vector<std::string>& ours,
                     const Labels& wanted) {
    Change change;
    const auto is_ours = [&](const std::string& key) {
        return std::ranges::find(ours, key) != ours.end();
    };
    for (const auto& [key, value] : wanted) {
        const auto found = present.find(key);
        if (found == present.end() || (found->second != value && is_ours(key))) {
            change.set[key] = value;
        } else if (found->second != value) {
            change.foreign.push_back(key);
            continue;
        } else if (!is_ours(key)) {
            continue;  // somebody else says the same: it stays his
        }
        change.ours.push_back(key);
    }
    for (const std::string& key : ours) {
        if (!wanted.contains(key) && present.contains(key)) change.remove.push_back(key);
    }
    std::ranges::sort(change.remove);
    return change;
}

std::string to_feature_file(const Labels& labels) {
    std::string text;
    for (const auto& [key, value] : labels) text.append(key).append("=").append(value).append("\n");
    return text;
}

}  // namespace aliquot::labels
