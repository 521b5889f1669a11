// SPDX-License-Identifier: Apache-2.0
#include "cel/semver.h"

#include <algorithm>
#include <array>

#include "base/number.h"
#include "base/text.h"

namespace aliquot::cel {
namespace {

constexpr std::size_t kLongestVersion = 256;

bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_digit);
}

bool is_identifier(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return is_digit(c) || is_letter(c) || c == '-';
    });
}

bool has_leading_zero(std::string_view text) { return text.size() > 1 && text.front() == '0'; }

std::strong_ordering compare_identifiers(const std::string& left, const std::string& right) {
    const bool numbers = is_number(left) && is_number(right);
    if (numbers && left.size() != right.size()) return left.size() <=> right.size();
    if (is_number(left) != is_number(right)) {
        return is_number(left) ? std::strong_ordering::less : std::strong_ordering::greater;
    }
    return left.compare(right) <=> 0;
}

}  // namespace

std::optional<Semver> Semver::parse(std::string_view text) {
    if (text.size() > kLongestVersion) return std::nullopt;
    Semver version;
    if (const auto plus = text.find('+'); plus != std::string_view::npos) {
        version.build = text.substr(plus + 1);
        for (const std::string_view part : split(std::string_view(version.build), '.')) {
            if (!is_identifier(part)) return std::nullopt;
        }
        text = text.substr(0, plus);
    }
    if (const auto dash = text.find('-'); dash != std::string_view::npos) {
        for (const std::string_view part : split(text.substr(dash + 1), '.')) {
            if (!is_identifier(part)) return std::nullopt;
            if (is_number(part) && has_leading_zero(part)) return std::nullopt;
            version.before.emplace_back(part);
        }
        text = text.substr(0, dash);
    }
    const auto numbers = split(text, '.');
    if (numbers.size() != 3) return std::nullopt;
    const std::array<std::uint64_t*, 3> places{&version.major, &version.minor, &version.patch};
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (!is_number(numbers[i]) || has_leading_zero(numbers[i])) return std::nullopt;
        const auto number = parse_number<std::uint64_t>(numbers[i]);
        if (!number) return std::nullopt;
        *places[i] = *number;
    }
    return version;
}

std::optional<Semver> Semver::parse_lenient(std::string_view text) {
    if (text.starts_with('v')) text.remove_prefix(1);
    const auto end = std::min(text.find_first_of("-+"), text.size());
    std::vector<std::string> numbers;
    for (std::string_view part : split(text.substr(0, end), '.')) {
        while (part.size() > 1 && part.front() == '0') part.remove_prefix(1);
        numbers.emplace_back(part);
    }
    if (numbers.size() > 3) return std::nullopt;
    while (numbers.size() < 3) numbers.emplace_back("0");
    return parse(join(numbers, ".") + std::string(text.substr(end)));
}

std::string Semver::text() const {
    std::string text =
        std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
    if (!before.empty()) text += '-' + join(before, ".");
    if (!build.empty()) text += '+' + build;
    return text;
}

std::strong_ordering operator<=>(const Semver& left, const Semver& right) {
    if (const auto order = left.major <=> right.major; order != 0) return order;
    if (const auto order = left.minor <=> right.minor; order != 0) return order;
    if (const auto order = left.patch <=> right.patch; order != 0) return order;
    if (left.before.empty() || right.before.empty()) {
        return right.before.size() <=> left.before.size();  // the release comes last
    }
    for (std::size_t i = 0; i < std::min(left.before.size(), right.before.size()); ++i) {
        const auto order = compare_identifiers(left.before[i], right.before[i]);
        if (order != 0) return order;
    }
    return left.before.size() <=> right.before.size();
}

}  // namespace aliquot::cel
