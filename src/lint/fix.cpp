// SPDX-License-Identifier: Apache-2.0
#include "lint/fix.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/diff.h"
#include "lint/lint.h"
#include "lint/words.h"
#include "syntax/clean_text.h"

namespace aliquot::lint {
namespace {

using findings::Edit;

bool overlap(const Edit& a, const Edit& b) {
    if (a.offset == b.offset) return true;
    return a.offset < b.offset ? a.offset + a.length > b.offset : b.offset + b.length > a.offset;
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

std::string as_written(const File& file, std::string_view text) {
    return std::string(file.byte_order_mark ? syntax::kByteOrderMark : "").append(text);
}

std::string unified_diff(std::string_view name, std::string_view before, std::string_view after) {
    if (before == after) return {};
    std::string out = "--- " + std::string(name) + "\n+++ " + std::string(name) + '\n';
    for (const DiffHunk& hunk : diff_lines(before, after)) {
        const auto count = [&](char other) {
            return std::to_string(std::ranges::count_if(
                hunk.lines, [other](const DiffLine& line) { return line.sign != other; }));
        };
        out += "@@ -" + std::to_string(hunk.old_begin + 1) + ',' + count('+') + " +" +
               std::to_string(hunk.new_begin + 1) + ',' + count('-') + " @@\n";
        for (const DiffLine& line : hunk.lines) print_line(out, line.sign, line.text);
    }
    return out;
}

}  // namespace aliquot::lint
