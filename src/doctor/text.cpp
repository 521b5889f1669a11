// SPDX-License-Identifier: Apache-2.0
#include "doctor/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <system_error>

namespace aliquot::doctor {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), lowered);
    return result;
}

void for_each_line(std::string_view text,
                   const std::function<void(std::string_view, unsigned)>& each) {
    for (unsigned number = 1; !text.empty(); ++number) {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        each(line, number);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    for (;;) {
        const auto begin = line.find_first_not_of(kBlanks);
        if (begin == std::string_view::npos) return words;
        line.remove_prefix(begin);
        const auto end = std::min(line.find_first_of(kBlanks), line.size());
        words.push_back(line.substr(0, end));
        line.remove_prefix(end);
    }
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

bool contains_folded(std::string_view text, std::string_view part) {
    const auto found = std::search(text.begin(), text.end(), part.begin(), part.end(),
                                   [](char a, char b) { return lowered(a) == lowered(b); });
    return part.empty() || found != text.end();
}

std::string joined(std::initializer_list<std::string_view> parts) {
    std::string text;
    for (const std::string_view part : parts) text += part;
    return text;
}

std::optional<std::int64_t> number_of(std::string_view text) {
    std::int64_t value = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || problem != std::errc{} || stop != text.data() + text.size()) return {};
    return value;
}

std::optional<std::int64_t> number_from(std::string_view text) {
    text = trim(text);
    std::int64_t value = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || stop == text.data()) return {};
    return value;
}

std::optional<std::uint64_t> hex_of(std::string_view text) {
    text = trim(text);
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.empty() || problem != std::errc{} || stop != text.data() + text.size()) return {};
    return value;
}

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

int compare_versions(std::string_view a, std::string_view b) {
    const auto left = split(a, '.');
    const auto right = split(b, '.');
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
        const auto x = i < left.size() ? number_from(left[i]).value_or(0) : 0;
        const auto y = i < right.size() ? number_from(right[i]).value_or(0) : 0;
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

std::string_view after(std::string_view text, std::string_view mark) {
    const auto found = text.find(mark);
    return found == std::string_view::npos ? std::string_view{} : text.substr(found + mark.size());
}

bool fits(std::string_view pattern, std::string_view name) {
    std::size_t p = 0;
    std::size_t n = 0;
    std::size_t star = std::string_view::npos;
    std::size_t resume = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = n;
        } else if (p < pattern.size() && pattern[p] == name[n]) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

std::string clip(std::string_view text, std::size_t limit) {
    std::string result(trim(text));
    for (char& c : result) {
        if (static_cast<unsigned char>(c) < 0x20U || c == 0x7f) c = ' ';
    }
    if (result.size() <= limit) return result;
    result.resize(limit);
    while (!result.empty() && (static_cast<unsigned char>(result.back()) & 0xc0U) == 0x80U) {
        result.pop_back();  // not inside a letter of several bytes
    }
    if (!result.empty() && (static_cast<unsigned char>(result.back()) & 0x80U) != 0) {
        result.pop_back();
    }
    return result + "...";
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
    std::string text;
    for (const std::string& word : words) {
        if (!text.empty()) text += separator;
        text += word;
    }
    return text;
}

std::optional<double> quantity_of(std::string_view text) {
    text = trim(text);
    double value = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || stop == text.data()) return {};
    constexpr std::array<std::pair<std::string_view, double>, 12> kUnits{{{"", 1},
                                                                          {"m", 1e-3},
                                                                          {"k", 1e3},
                                                                          {"M", 1e6},
                                                                          {"G", 1e9},
                                                                          {"T", 1e12},
                                                                          {"Ki", 1024.0},
                                                                          {"Mi", 1048576.0},
                                                                          {"Gi", 1073741824.0},
                                                                          {"Ti", 1099511627776.0},
                                                                          {"n", 1e-9},
                                                                          {"u", 1e-6}}};
    const std::string_view unit(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
    for (const auto& [name, factor] : kUnits) {
        if (unit == name) return value * factor;
    }
    return {};
}

std::optional<std::int64_t> time_of(std::string_view text) {
    text = trim(text);
    if (text.size() < 19 || text[4] != '-' || text[7] != '-') return {};
    const auto part = [&](std::size_t at, std::size_t size) {
        return number_of(text.substr(at, size));
    };
    const auto year = part(0, 4);
    const auto month = part(5, 2);
    const auto day = part(8, 2);
    const auto hour = part(11, 2);
    const auto minute = part(14, 2);
    const auto second = part(17, 2);
    if (!year || !month || !day || !hour || !minute || !second) return {};
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                           std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    if (!date.ok()) return {};
    const auto days = std::chrono::sys_days(date).time_since_epoch().count();
    return static_cast<std::int64_t>(days) * 86400 + *hour * 3600 + *minute * 60 + *second;
}

}  // namespace aliquot::doctor
