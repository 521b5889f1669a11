// SPDX-License-Identifier: Apache-2.0
#include "base/diff.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace aliquot {
namespace {

constexpr std::size_t kMostLines = 5000;
constexpr std::size_t kAround = 3;

using Lines = std::span<const std::string_view>;

std::vector<std::string_view> lines_with_breaks(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return lines;
}

/// The longest common sequence of lines, the simple way: time and memory are the product of the sizes.
void align(Lines before, Lines after, std::vector<DiffLine>& made) {
    const std::size_t width = after.size() + 1;
    const bool large = before.size() > kMostLines || after.size() > kMostLines;
    std::vector<std::uint16_t> common(large ? 0 : (before.size() + 1) * width, 0);
    for (std::size_t i = large ? 0 : before.size(); i-- > 0;) {
        for (std::size_t j = after.size(); j-- > 0;) {
            common[i * width + j] =
                before[i] == after[j]
                    ? static_cast<std::uint16_t>(common[(i + 1) * width + j + 1] + 1)
                    : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
        }
    }
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < before.size() || j < after.size()) {
        if (!large && i < before.size() && j < after.size() && before[i] == after[j]) {
            made.push_back({' ', before[i]});
            ++i, ++j;
        } else if (j == after.size() ||
                   (i < before.size() &&
                    (large || common[(i + 1) * width + j] >= common[i * width + j + 1]))) {
            made.push_back({'-', before[i++]});
        } else {
            made.push_back({'+', after[j++]});
        }
    }
}

std::vector<DiffLine> all_lines(Lines before, Lines after) {
    std::vector<DiffLine> all;
    while (!before.empty() && !after.empty() && before.front() == after.front()) {
        all.push_back({' ', before.front()});
        before = before.subspan(1);
        after = after.subspan(1);
    }
    std::size_t same = 0;
    while (same < std::min(before.size(), after.size()) &&
           before[before.size() - 1 - same] == after[after.size() - 1 - same]) {
        ++same;
    }
    align(before.first(before.size() - same), after.first(after.size() - same), all);
    for (const std::string_view line : before.last(same)) all.push_back({' ', line});
    return all;
}

}  // namespace

std::vector<DiffHunk> diff_lines(std::string_view before, std::string_view after) {
    if (before == after) return {};
    const std::vector<DiffLine> all =
        all_lines(lines_with_breaks(before), lines_with_breaks(after));
    std::vector<DiffHunk> hunks;
    std::size_t old_line = 0;
    std::size_t new_line = 0;
    std::size_t shown = 0;  // the lines before this one are in a hunk or left out
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto from = all.begin() + static_cast<std::ptrdiff_t>(i - std::min(i, kAround));
        const auto end =
            all.begin() + static_cast<std::ptrdiff_t>(std::min(i + kAround + 1, all.size()));
        const bool near =
            std::any_of(from, end, [](const DiffLine& line) { return line.sign != ' '; });
        if (near) {
            if (hunks.empty() || shown != i) hunks.push_back({old_line, new_line, {}});
            hunks.back().lines.push_back(all[i]);
            shown = i + 1;
        }
        if (all[i].sign != '+') ++old_line;
        if (all[i].sign != '-') ++new_line;
    }
    return hunks;
}

}  // namespace aliquot
