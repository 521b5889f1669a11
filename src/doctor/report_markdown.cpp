// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>
#include <string>

#include "base/text.h"
#include "doctor/report.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

constexpr std::size_t kMostLine = 2000;

/// Text that Markdown and HTML show as it is, also in a table.
std::string markdown(std::string_view text) {
    std::string safe;
    for (const char c : clip(text, kMostLine)) {
        if (c == '<') {
            safe += "&lt;";
        } else if (c == '>') {
            safe += "&gt;";
        } else if (c == '&') {
            safe += "&amp;";
        } else {
            if (std::string_view("\\`*_[]|~#!").find(c) != std::string_view::npos) safe += '\\';
            safe += c;
        }
    }
    return safe;
}

/// Longer than any in the text.
std::string fence_around(std::string_view text) {
    std::size_t longest = 2;
    std::size_t ticks = 0;
    for (const char c : text) {
        ticks = c == '`' ? ticks + 1 : 0;
        longest = std::max(longest, ticks);
    }
    return std::string(longest + 1, '`');
}

/// Lines with their blanks, without what steers a terminal.
std::string code_of(std::string_view text) {
    std::string code;
    for_each_line(text, [&](std::string_view line, unsigned) {
        code.append(std::min(line.find_first_not_of(' '), line.size()), ' ');
        code += clip(line, kMostLine) + '\n';
    });
    return code;
}

}  // namespace

void print_markdown(std::ostream& out, const Report& report) {
    out << "## doctor: " << markdown(report.title) << "\n\n";
    for (const std::string& id : report.root_causes) {
        const Judged* const one = report.find(id);
        if (one == nullptr) continue;
        out << "**Root cause: " << id << ".** " << markdown(one->verdict.message) << "\n\n";
        for (const Fix& fix : one->verdict.fixes) {
            if (fix.kind == Fix::Kind::kNote) {
                out << markdown(fix.text) << "\n\n";
            } else {
                const std::string fence = fence_around(fix.text);
                out << fence << "sh\n" << code_of(fix.text) << fence << "\n\n";
            }
        }
    }
    out << "| check | result | finding |\n|---|---|---|\n";
    for (const Judged& one : report.checks) {
        if (one.verdict.outcome == Outcome::kSkipped) continue;
        out << "| " << one.id << " | " << to_text(one.verdict.outcome) << " | "
            << markdown(one.verdict.message) << " |\n";
    }
}

}  // namespace aliquot::doctor
