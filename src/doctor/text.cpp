// SPDX-License-Identifier: Apache-2.0
#include "doctor/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <system_error>

#include "base/sentence.h"
#include "base/text.h"
#include "base/time_text.h"

namespace aliquot::doctor {

bool is_driver_version(std::string_view word) {
    const auto parts = split(word, '.');
    if (parts.size() < 2 || parts.size() > 3 || parts[0].size() < 2 || parts[0].size() > 4) {
        return false;
    }
    return std::ranges::all_of(parts, [](std::string_view part) {
        return !part.empty() && part.size() <= 4 && std::ranges::all_of(part, is_digit);
    });
}

std::string driver_version_in(std::string_view line) {
    for (std::string_view word : words_of(line)) {
        while (!word.empty() && !is_digit(word.front())) word.remove_prefix(1);
        while (!word.empty() && !is_digit(word.back())) word.remove_suffix(1);
        if (is_driver_version(word)) return std::string(word);
    }
    return {};
}

std::optional<std::int64_t> time_of(std::string_view text) {
    const auto time = parse_rfc3339(trim(text));
    if (!time) return {};
    return std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count();
}

std::string clip(std::string_view text, std::size_t limit) { return one_line(trim(text), limit); }

}  // namespace aliquot::doctor
