// SPDX-License-Identifier: Apache-2.0
#include "lint/fix.h"

#include <algorithm>
#include <memory>
#include <set>

#include "lint/lint.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Edit;

bool overlap(const Edit& a, const Edit& b) {
    if (a.offset == b.offset) return true;
    return a.offset < b.offset ? a.offset + a.length > b.offset : b.offset + b.length > a.offset;
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return lines;
}

void print_line(std::string& out, char mark, std::string_view line) {
    out += mark;
    out += line;
    if (line.empty() || line.back() != '\n') out += "\n\\ No newline at end of file\n";
}

std::multiset<std::string> rules_of(const std::vector<findings::Finding>& findings) {
    std::multiset<std::string> rules;
    for (const findings::Finding& one : findings) {
        if (one.severity != findings::Severity::kInfo) rules.insert(one.rule);
    }
    return rules;
}

/// The findings of one file in its fixed form, within its set of one.
std::vector<findings::Finding> check_again(const File& file, const std::string& text,
                                           const Facts* facts) {
    std::vector<std::unique_ptr<File>> files;
    files.push_back(read_file(file.name, text));
    files.back()->aliquot = file.aliquot;
    return check(Set(std::move(files)), facts, 1);
}

}  // namespace

Fixed apply_fixes(std::string_view original, const std::vector<findings::Finding>& findings) {
    Fixed result;
    std::vector<Edit> edits;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const std::vector<Edit>& wanted = findings[i].edits;
        if (wanted.empty()) continue;
        const bool possible = std::all_of(wanted.begin(), wanted.end(), [&](const Edit& one) {
            return one.offset <= original.size() && one.length <= original.size() - one.offset &&
                   std::none_of(edits.begin(), edits.end(),
                                [&one](const Edit& other) { return overlap(one, other); });
        });
        if (!possible) continue;
        edits.insert(edits.end(), wanted.begin(), wanted.end());
        result.fixed.push_back(i);
    }
    std::stable_sort(edits.begin(), edits.end(),
                     [](const Edit& a, const Edit& b) { return a.offset < b.offset; });
    std::size_t at = 0;
    for (const Edit& edit : edits) {
        if (edit.offset < at) continue;
        result.text += original.substr(at, edit.offset - at);
        result.text += edit.replacement;
        at = edit.offset + edit.length;
    }
    result.text += original.substr(std::min(at, original.size()));
    return result;
}

std::string fixed_text(const File& file, const std::vector<findings::Finding>& findings,
                       const Facts* facts) {
    const auto before = rules_of(check_again(file, file.original, facts));
    const auto is_better = [&](const std::string& text) {
        const auto after = rules_of(check_again(file, text, facts));
        return std::includes(before.begin(), before.end(), after.begin(), after.end());
    };
    std::string all = apply_fixes(file.original, findings).text;
    if (is_better(all)) return all;
    std::vector<findings::Finding> kept;  // one after the other: leave out what does harm
    for (const findings::Finding& one : findings) {
        if (one.edits.empty()) continue;
        kept.push_back(one);
        if (!is_better(apply_fixes(file.original, kept).text)) kept.pop_back();
    }
    return apply_fixes(file.original, kept).text;
}

/// Good for texts that differ in few places: equal lines at both ends are left out, and what is between
/// becomes hunks at lines that are equal and unique enough to meet again.
std::string unified_diff(std::string_view name, std::string_view before, std::string_view after) {
    if (before == after) return {};
    constexpr std::size_t kContext = 3;
    constexpr std::size_t kLookAhead = 200;
    const auto old_lines = lines_of(before);
    const auto new_lines = lines_of(after);
    struct Change {
        std::size_t old_begin, old_end, new_begin, new_end;
    };
    std::vector<Change> changes;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < old_lines.size() || j < new_lines.size()) {
        if (i < old_lines.size() && j < new_lines.size() && old_lines[i] == new_lines[j]) {
            ++i;
            ++j;
            continue;
        }
        // The nearest place where both meet again.
        std::size_t old_end = old_lines.size();
        std::size_t new_end = new_lines.size();
        for (std::size_t sum = 1; sum < kLookAhead && old_end == old_lines.size(); ++sum) {
            for (std::size_t skip = 0; skip <= sum; ++skip) {
                const std::size_t a = i + skip;
                const std::size_t b = j + sum - skip;
                if (a < old_lines.size() && b < new_lines.size() && old_lines[a] == new_lines[b]) {
                    old_end = a;
                    new_end = b;
                    break;
                }
            }
        }
        changes.push_back({i, old_end, j, new_end});
        i = old_end;
        j = new_end;
    }
    std::string out = "--- " + std::string(name) + "\n+++ " + std::string(name) + '\n';
    for (std::size_t first = 0; first < changes.size();) {
        std::size_t last = first;
        while (last + 1 < changes.size() &&
               changes[last + 1].old_begin - changes[last].old_end <= 2 * kContext) {
            ++last;
        }
        const std::size_t lead = std::min(kContext, changes[first].old_begin);
        const std::size_t tail = std::min(kContext, old_lines.size() - changes[last].old_end);
        const std::size_t old_begin = changes[first].old_begin - lead;
        const std::size_t new_begin = changes[first].new_begin - lead;
        out += "@@ -" + std::to_string(old_begin + 1) + ',' +
               std::to_string(changes[last].old_end + tail - old_begin) + " +" +
               std::to_string(new_begin + 1) + ',' +
               std::to_string(changes[last].new_end + tail - new_begin) + " @@\n";
        std::size_t at = old_begin;
        for (std::size_t k = first; k <= last; ++k) {
            for (; at < changes[k].old_begin; ++at) print_line(out, ' ', old_lines[at]);
            for (; at < changes[k].old_end; ++at) print_line(out, '-', old_lines[at]);
            for (std::size_t n = changes[k].new_begin; n < changes[k].new_end; ++n) {
                print_line(out, '+', new_lines[n]);
            }
        }
        for (std::size_t k = 0; k < tail; ++k) print_line(out, ' ', old_lines[at++]);
        first = last + 1;
    }
    return out;
}

}  // namespace aliquot::lint
